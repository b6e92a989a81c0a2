# Runs Nova and all that it needs beside Keystone and Glance, with files in the folder $1, until it is killed. $2 is the name of the site, what follows
# runs Neutron. There are no virtual machines: Nova's driver is the one for tests. Whatever ends, or fails, ends all.
set -eu
nova=$1 site=$2
shift 2
trap 'echo "nova.sh has ended: $?" >&2' EXIT
mkdir -p "$nova/mysql" "$nova/rabbit" "$nova/state" "$nova/instances"
cd "$nova"
export HOME="$nova"
failed() { echo "$1 has failed" >&2; kill -KILL $$; }
run() { ("$@" || :; failed "$1") & }

run "$@"
run env RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_MNESIA_BASE="$nova/rabbit" RABBITMQ_LOG_BASE="$nova/rabbit" \
	RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=5672 RABBITMQ_CONF_ENV_FILE=/dev/null ERL_EPMD_ADDRESS=127.0.0.1 \
	RABBITMQ_ENABLED_PLUGINS_FILE="$nova/rabbit/plugins" /usr/lib/rabbitmq/bin/rabbitmq-server >rabbit.log

mariadb-install-db --no-defaults --datadir="$nova/mysql" --auth-root-authentication-method=normal --skip-test-db >mysql.log 2>&1
run mariadbd --no-defaults --user=root --datadir="$nova/mysql" --socket="$nova/sql" --skip-networking --innodb-flush-log-at-trx-commit=0 \
	--innodb-buffer-pool-size=64M --performance-schema=off
sql() { mariadb --no-defaults --socket="$nova/sql" --user=root -e "$1"; }
until sql "select 1" >/dev/null 2>&1; do sleep 0.1; done
for name in nova nova_api nova_cell0 placement; do sql "create database $name character set utf8"; done

database() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$nova/sql"; }
account() {
	echo "[$1]
auth_url = http://127.0.0.1:5000/v3
auth_type = password
user_domain_id = default
project_domain_id = default
project_name = admin
username = admin
password = secret"
}
cat >placement.conf <<END
[DEFAULT]
use_stderr = true
[placement_database]
connection = $(database placement)
$(account keystone_authtoken)
END
cat >nova.conf <<END
[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1:5672/
compute_driver = fake.SmallFakeDriver
host = $site
my_ip = 127.0.0.1
state_path = $nova/state
instances_path = $nova/instances
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_workers = 1
log_file =
log_dir =
use_stderr = true
# A busy machine is no reason to take a service for dead.
rpc_response_timeout = 600
service_down_time = 3600
[api_database]
connection = $(database nova_api)
[database]
connection = $(database nova)
[conductor]
workers = 1
[scheduler]
workers = 1
[oslo_concurrency]
lock_path = $nova/state
[glance]
# Through the agent, as every service is reached.
endpoint_override = http://127.0.0.1:9192
$(account keystone_authtoken)
www_authenticate_uri = http://127.0.0.1:4900
$(account placement)
endpoint_override = http://127.0.0.1:8778
$(account neutron)
endpoint_override = http://127.0.0.1:9696
END
manage() { nova-manage --config-file nova.conf "$@" >>manage.log 2>&1; }
placement-manage --config-file placement.conf db sync >manage.log 2>&1
run env OS_PLACEMENT_CONFIG_DIR="$nova" uwsgi_python3 --http-socket 127.0.0.1:8778 --master --processes 1 --lazy-apps --buffer-size 65535 --rem-header Content-Length \
	--disable-logging --wsgi-file /usr/bin/placement-api
manage api_db sync
manage cell_v2 map_cell0 --database_connection "$(database nova_cell0)"
manage db sync
manage cell_v2 create_cell --name cell1
for service in conductor scheduler compute api; do run "nova-$service" --config-file nova.conf; done
# The host is found once its compute service has told Nova of it. Whether it has told placement as well is seen there.
until nova-manage --config-file nova.conf cell_v2 discover_hosts --verbose 2>>manage.log | grep "Creating host mapping" >/dev/null; do sleep 0.5; done
until sql "select count(*) as n from placement.inventories" | grep -q "^[1-9]"; do sleep 0.5; done
touch ready
wait
