"""Which kind of slot a pool's machines bring, so that nobody waits for another."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN slot_kind text")
