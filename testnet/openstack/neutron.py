# Makes Neutron's tables in a new file of SQLite, for which its own migrations are not written.
import sys

import sqlalchemy

from neutron.db.migration.models import head

engine = sqlalchemy.create_engine(sys.argv[1])
with engine.connect() as connection:  # who reads keeps nobody from writing
    connection.execute(sqlalchemy.text("PRAGMA journal_mode=WAL"))
head.get_metadata().create_all(engine)
