"""Records of elastic trials (reports, usage, target size), so that a new leader need not relearn them."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN elastic jsonb")
    op.execute("ALTER TABLE scheduler.run ADD COLUMN asked_slots integer")
