"""Disabled slots of a worker, written by handlers."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.worker ADD COLUMN disabled_slots int[] NOT NULL DEFAULT '{}'")
