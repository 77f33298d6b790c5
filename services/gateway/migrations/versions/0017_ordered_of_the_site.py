"""What is ordered of the site is seen to have worked by the scheduler's view: what is wanted of it is kept."""

from alembic import op

revision = "gateway_0017"
down_revision = "gateway_0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.ordered ADD COLUMN wanted json")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
