"""Kind of slot of the machines that a pool's provider adds."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.pool ADD COLUMN provided_kind text")
