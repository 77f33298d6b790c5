"""Labels of workers."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.worker ADD COLUMN labels jsonb NOT NULL DEFAULT '{}'")
