"""Add deletions, and the ids of deleted entities."""

from alembic import op

from shared.database.engine import deletion_tables, protect

revision = "gateway_0018"
down_revision = "gateway_0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    deletion_tables(op, "gateway")
    op.execute(
        "ALTER TABLE gateway.experiment ADD COLUMN deleting boolean NOT NULL DEFAULT false,"
        " ADD COLUMN killed boolean NOT NULL DEFAULT false"
    )
    op.execute("ALTER TABLE gateway.tenant ADD COLUMN deleting boolean NOT NULL DEFAULT false")
    op.execute(
        """CREATE TABLE gateway.deletion (
            tenant uuid NOT NULL, id uuid PRIMARY KEY, scope text NOT NULL, target uuid NOT NULL, name text NOT NULL,
            is_forced boolean NOT NULL, by text NOT NULL, stage text NOT NULL, waiting text[] NOT NULL, parent uuid,
            created_at timestamptz NOT NULL, changed_at timestamptz NOT NULL, ended_at timestamptz,
            code text, message text, hint text)"""
    )
    op.execute("CREATE INDEX deletion_open ON gateway.deletion (changed_at) WHERE ended_at IS NULL")
    op.execute("CREATE UNIQUE INDEX deletion_target ON gateway.deletion (target) WHERE ended_at IS NULL")
    op.execute("CREATE INDEX deletion_parent ON gateway.deletion (parent) WHERE parent IS NOT NULL")
    protect(op, "gateway", "deletion")
