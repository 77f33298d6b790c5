"""Resources that are being deleted, and the ids of deleted ones."""

from alembic import op

from shared.database.engine import deletion_tables

revision = "searcher_0014"
down_revision = "searcher_0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    deletion_tables(op, "searcher")
