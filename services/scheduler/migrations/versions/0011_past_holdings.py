"""Index usage entries by their end: a leader sums past usage from them, and the oldest are deleted."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX holding_ended ON scheduler.holding (until)")
