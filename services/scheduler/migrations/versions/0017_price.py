"""Price per slot and hour of the machines that a pool's provider adds."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.pool ADD COLUMN price_per_slot_hour double precision")
