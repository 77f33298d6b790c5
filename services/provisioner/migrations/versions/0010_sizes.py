"""Number of waiting requests by the slots that they need on one machine."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN sizes jsonb NOT NULL DEFAULT '[]'")
