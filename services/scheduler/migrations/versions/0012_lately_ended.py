"""Index the ends of runs: a new leader reads the newest ones, whose durations are used for start forecasts."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX run_lately_ended ON scheduler.run (ended_at) WHERE ended_at IS NOT NULL")
