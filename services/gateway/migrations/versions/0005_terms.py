"""Add the edited limits of a running search."""

from alembic import op

revision = "gateway_0005"
down_revision = "gateway_0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.experiment ADD COLUMN terms json")
