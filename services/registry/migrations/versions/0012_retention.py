"""Add retention rules of tenants and workspaces for points."""

from alembic import op

from shared.database.engine import protect

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.experiments ADD COLUMN workspace text")
    op.execute(
        """CREATE TABLE registry.retention (
            tenant uuid NOT NULL, workspace text NOT NULL, metric_detail_days int, metric_retention_days int,
            PRIMARY KEY (tenant, workspace))"""
    )
    protect(op, "registry", "retention")
