"""Slots that wait and that tenants' budgets bear no machines for."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN unaffordable integer NOT NULL DEFAULT 0")
