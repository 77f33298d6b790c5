"""Add background verification of objects, storage limits of tenants, and edited retention rules."""

from alembic import op

from shared.database.engine import protect

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE registry.checkpoints ADD COLUMN takes int NOT NULL DEFAULT 0,"
        " ADD COLUMN is_clean boolean NOT NULL DEFAULT false"
    )
    op.execute("ALTER TABLE registry.experiments ADD COLUMN is_policy_edited boolean NOT NULL DEFAULT false")
    op.execute(
        "ALTER TABLE registry.objects ADD COLUMN verified_at timestamptz, ADD COLUMN asked_at timestamptz,"
        " ADD COLUMN claimed_until timestamptz"
    )
    op.execute(
        "CREATE INDEX objects_to_read ON registry.objects (verified_at NULLS FIRST) WHERE state = 'kept'"
    )
    op.execute(
        "CREATE INDEX objects_asked ON registry.objects (asked_at) WHERE asked_at IS NOT NULL AND state = 'kept'"
    )
    op.execute(
        """CREATE TABLE registry.storage (
            tenant uuid PRIMARY KEY, used_bytes bigint NOT NULL DEFAULT 0, maximum_bytes bigint,
            version bigint NOT NULL DEFAULT 0)"""
    )
    # Row-level security applies to the owner too, who has no tenant.
    for table in ("objects", "artifacts"):
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "INSERT INTO registry.storage (tenant, used_bytes) SELECT tenant, sum(size_bytes) FROM"
        " (SELECT tenant, size_bytes FROM registry.objects UNION ALL SELECT tenant, size_bytes FROM registry.artifacts) a"
        " GROUP BY tenant"
    )
    for table in ("objects", "artifacts"):
        op.execute(f"ALTER TABLE registry.{table} FORCE ROW LEVEL SECURITY")
    protect(op, "registry", "storage")
