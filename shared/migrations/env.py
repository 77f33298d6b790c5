"""Alembic's entry: runs one service's revisions on the connection that shared.db.migrate holds the lock with."""

from alembic import context

configuration = context.config
schema = configuration.attributes["schema"]
context.configure(
    connection=configuration.attributes["connection"],
    version_table_schema=schema,
    include_schemas=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
