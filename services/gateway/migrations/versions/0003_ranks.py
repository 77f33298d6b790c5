"""Add the scheduler's last announcement of an experiment's scheduling policy."""

from alembic import op

revision = "gateway_0003"
down_revision = "gateway_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE gateway.experiment ADD COLUMN rank json, ADD COLUMN rank_version bigint NOT NULL DEFAULT 0"
    )
