"""Published price of a pool's slots."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN price_per_slot_hour double precision")
