"""Add the used budget of a search."""

from alembic import op

revision = "gateway_0006"
down_revision = "gateway_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.experiment ADD COLUMN budget json")
