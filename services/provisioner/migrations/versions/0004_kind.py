"""Slot kind of a pool's machines, so that no request waits for another kind."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN slot_kind text")
