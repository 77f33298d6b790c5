"""Store an experiment's metric retention, if its config sets it."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE registry.experiments ADD COLUMN metric_detail_days int, ADD COLUMN metric_retention_days int"
    )
