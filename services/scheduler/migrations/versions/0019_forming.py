"""Runs that are resized while they train: what one is becoming, and who had a part in it; a new leader goes on with it."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.run ADD COLUMN forming jsonb")
