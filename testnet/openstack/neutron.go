package openstack

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"path/filepath"
)

// Network is Neutron's name in the catalog.
const Network = "network"

//go:embed neutron.py
var neutronTables []byte

// Neutron is one instance of the network service's own server, without agents and a broker: nothing carries its networks.
type Neutron struct {
	Dir     string // of its configuration and database
	Address string // host and port that it listens on
	// Host is a machine that ports can be bound to: the database says that an agent of Open vSwitch is there, which there is not. Empty: none.
	Host string
	// Account is what Keystone is asked with about tokens, as a section of the configuration. Empty: whoever asks may do everything.
	Account string
}

// Furnish writes the instance's configuration and makes its database, which takes seconds.
func (n Neutron) Furnish(ctx context.Context) error {
	tables := filepath.Join(n.Dir, "tables.py")
	// Debian's Python has what Debian packages.
	return furnish(ctx, "neutron-server", "neutron-server", map[string][]byte{n.file(): []byte(n.configuration()), tables: neutronTables},
		"/usr/bin/python3", "-I", tables, n.database(), n.Host)
}

// Command returns what runs the instance until SIGTERM.
func (n Neutron) Command() []string { return []string{"neutron-server", "--config-file", n.file()} }

func (n Neutron) file() string     { return filepath.Join(n.Dir, "neutron.conf") }
func (n Neutron) database() string { return "sqlite:///" + filepath.Join(n.Dir, "neutron.db") }

func (n Neutron) configuration() string {
	host, port, _ := net.SplitHostPort(n.Address) // as its caller has it; Neutron says what is wrong
	strategy := "noauth"
	if n.Account != "" {
		strategy = "keystone"
	}
	return fmt.Sprintf(`[DEFAULT]
use_stderr = true
auth_strategy = %[5]s
host = here
state_path = %[1]s
transport_url = fake://
api_paste_config = /etc/neutron/api-paste.ini
bind_host = %[2]s
bind_port = %[3]s
# Its threads share one of the system, and none may wait there for a lock of SQLite that another one holds.
wsgi_default_pool_size = 1
wsgi_keep_alive = false
api_workers = 0
rpc_workers = 0
rpc_state_report_workers = 0
core_plugin = ml2
service_plugins = router
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
# No agent tells that it still runs.
agent_down_time = 86400
[database]
connection = %[4]s
[oslo_concurrency]
lock_path = %[1]s
[quotas]
default_quota = -1
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_router = -1
quota_floatingip = -1
quota_security_group = -1
quota_security_group_rule = -1
[ml2]
type_drivers = local,flat,vlan,vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_flat]
flat_networks = *
[ml2_type_vxlan]
vni_ranges = 1:100000
%[6]s`, n.Dir, host, port, n.database(), strategy, n.Account)
}
