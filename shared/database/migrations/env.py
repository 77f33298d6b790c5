"""Alembic's entry point: runs one service's migrations on the connection with which `shared.database.upgrading` holds the lock."""

from typing import Any

from alembic import context
from sqlalchemy import text

from shared.version import platform_version

configuration = context.config
schema = configuration.attributes["schema"]


def record(ctx: Any, step: Any, *_: Any, **__: Any) -> None:
    """Store this release, the oldest revision whose release can use the schema, and its first migration in the revision's transaction.

    A migration without `compatible_from` is assumed to break all earlier releases.
    """
    table, revision = f"{schema}.alembic_version", step.up_revision
    names = ("compatible_from", "release", "initial_revision")
    columns = ", ".join(f"ADD COLUMN IF NOT EXISTS {name} text" for name in names)
    values = (
        "compatible_from = :since, release = :release, initial_revision = coalesce(initial_revision, :own)"
    )
    ctx.connection.execute(text(f"ALTER TABLE {table} {columns}"))
    ctx.connection.execute(
        text(f"UPDATE {table} SET {values}"),
        {
            "own": revision.revision,
            "since": getattr(revision.module, "compatible_from", revision.revision),
            "release": platform_version(),
        },
    )


context.configure(
    connection=configuration.attributes["connection"],
    version_table_schema=schema,
    include_schemas=True,
    transaction_per_migration=True,
    on_version_apply=record,
)
with context.begin_transaction():
    context.run_migrations()
