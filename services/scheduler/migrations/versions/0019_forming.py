"""Target and former members of runs that are resized live, so that a new leader can continue the resize."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.run ADD COLUMN forming jsonb")
