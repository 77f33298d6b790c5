"""Index checkpoint objects by content: contents that a tenant stores already are not uploaded again."""

from alembic import op

from shared.database.engine import protect

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """CREATE TABLE registry.objects (
            key text PRIMARY KEY, tenant uuid NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL,
            state text NOT NULL DEFAULT 'kept', unused_since timestamptz)"""
    )
    op.execute(
        "CREATE UNIQUE INDEX objects_by_content ON registry.objects (tenant, sha256, size_bytes)"
        " WHERE state = 'kept'"
    )
    op.execute(
        "CREATE INDEX objects_unused ON registry.objects (unused_since) WHERE unused_since IS NOT NULL"
    )
    op.execute("CREATE INDEX checkpoint_files_by_key ON registry.checkpoint_files (key)")
    protect(op, "registry", "objects")
