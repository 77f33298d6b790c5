"""Pending deletions, and the ids of deleted entities."""

from alembic import op

from shared.database.engine import deletion_tables

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    deletion_tables(op, "scheduler")
