"""Add tables of pending deletions and of deleted ids."""

from alembic import op

from shared.database.engine import deletion_tables, open_to_system

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    deletion_tables(op, "registry")
    # Prefixes to which presigned URLs may still write after the deletion.
    op.execute("CREATE TABLE registry.litter (prefix text PRIMARY KEY, due_at timestamptz NOT NULL)")
    open_to_system(op, "registry", "litter")
