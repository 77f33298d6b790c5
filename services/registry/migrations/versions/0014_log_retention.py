"""Add log retention to experiments, workspaces and tenants."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("experiments", "retention"):
        op.execute(f"ALTER TABLE registry.{table} ADD COLUMN log_retention_days int")
