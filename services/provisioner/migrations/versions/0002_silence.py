"""Since when a worker has sent no heartbeat, to detect hung workers."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.instance ADD COLUMN silent_since timestamptz")
