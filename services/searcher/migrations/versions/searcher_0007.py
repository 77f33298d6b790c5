"""Edits of a running search."""

from alembic import op

revision = "searcher_0007"
down_revision = "searcher_0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.experiment ADD COLUMN terms jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.experiment DROP COLUMN terms")
