# Makes Neutron's tables in a new file of SQLite, for which its own migrations are not written. With the name of a machine there is an agent of
# Open vSwitch on it, as far as the tables say: Neutron binds ports to machines that have one.
import datetime
import json
import sys

import sqlalchemy

from neutron.db.migration.models import head

database, host = sys.argv[1:]
engine = sqlalchemy.create_engine(database)
with engine.connect() as connection:  # who reads keeps nobody from writing
    connection.execute(sqlalchemy.text("PRAGMA journal_mode=WAL"))
tables = head.get_metadata()
tables.create_all(engine)
if host:
    now = datetime.datetime.utcnow()
    with engine.begin() as connection:
        connection.execute(tables.tables["agents"].insert().values(
            agent_type="Open vSwitch agent", binary="neutron-openvswitch-agent", topic="N/A", host=host, admin_state_up=True,
            created_at=now, started_at=now, heartbeat_timestamp=now, configurations=json.dumps({"tunnel_types": ["vxlan"]})))
