"""Run by Alembic. The connection comes from `upgrades.py`, inside a transaction that holds the lock."""

from alembic import context

from lanceway.lake.store.schema import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
