"""Waiting slots for which tenants' budgets cover no machines."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN unaffordable integer NOT NULL DEFAULT 0")
