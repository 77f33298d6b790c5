"""Measured pauses of runs (restart, resize, preemption), so that a new leader plans with them."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.run ADD COLUMN took jsonb")
    op.execute("CREATE INDEX run_took ON scheduler.run (token) WHERE took IS NOT NULL")
