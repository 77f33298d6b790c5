"""Price of each usage entry, from its pool at its start; unknown for earlier entries."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.holding ADD COLUMN price_per_slot_hour double precision")
