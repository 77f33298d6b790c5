"""The newest ends of runs are read when a term begins: how long they took is what expected starts are reckoned from."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX run_lately_ended ON scheduler.run (ended_at) WHERE ended_at IS NOT NULL")
