"""Store which workers hold files of a checkpoint, as listed by the gang's chief, to reject files of workers that left the gang."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.checkpoints ADD COLUMN parts text[]")
