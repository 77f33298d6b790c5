"""When a trial last yielded at the end of a time slice."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN turned_at timestamptz")
