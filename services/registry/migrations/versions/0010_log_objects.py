"""Move older log lines to the object store, with an index."""

from alembic import op

from shared.database.engine import protect

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

OBJECTS = """CREATE TABLE registry.log_objects (
    id uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, first bigint NOT NULL, lines bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'writing', size_bytes bigint NOT NULL DEFAULT 0, text_bytes bigint NOT NULL DEFAULT 0,
    since_ms bigint, until_ms bigint, runs bigint[], ranks bigint[], levels text[], grams_bits int, grams bytea,
    created_at timestamptz NOT NULL)"""


def upgrade() -> None:
    op.execute(OBJECTS)
    # One attempt at a time per trial, and no line in two objects.
    op.execute(
        "CREATE UNIQUE INDEX log_objects_by_trial ON registry.log_objects (trial, first) WHERE state <> 'deleting'"
    )
    op.execute(
        "CREATE INDEX log_objects_unsettled ON registry.log_objects (created_at) WHERE state <> 'kept'"
    )
    op.execute("CREATE INDEX log_objects_by_age ON registry.log_objects (until_ms) WHERE state = 'kept'")
    # Uncompressed, so that one bit of a filter can be read without the rest.
    op.execute("ALTER TABLE registry.log_objects ALTER COLUMN grams SET STORAGE EXTERNAL")
    protect(op, "registry", "log_objects")
    op.execute(
        "ALTER TABLE registry.log_heads ADD COLUMN packed bigint NOT NULL DEFAULT 1, ADD COLUMN letters bigint NOT NULL DEFAULT 0"
    )
    # Row-level security applies to the owner too, who has no tenant.
    for table in ("log_heads", "log_chunks"):
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE registry.log_heads h SET letters = c.letters FROM"
        " (SELECT trial, 5 * sum(octet_length(body)) AS letters FROM registry.log_chunks GROUP BY trial) c WHERE c.trial = h.trial"
    )
    for table in ("log_heads", "log_chunks"):
        op.execute(f"ALTER TABLE registry.{table} FORCE ROW LEVEL SECURITY")
