"""Add the desired state of operations on the site; the scheduler's view shows when it is reached."""

from alembic import op

revision = "gateway_0017"
down_revision = "gateway_0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.ordered ADD COLUMN wanted json")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
