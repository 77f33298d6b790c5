"""Workers that log policies exclude for a trial."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN excluded jsonb NOT NULL DEFAULT '[]'")
