"""Labels of a pool's machines, so that no request waits for others."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE provisioner.provider ADD COLUMN labels jsonb NOT NULL DEFAULT '{}'")
