"""Resources that are being deleted, and the ids of deleted ones."""

from alembic import op

from shared.database.engine import deletion_tables

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    deletion_tables(op, "provisioner")
