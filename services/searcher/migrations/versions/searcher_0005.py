"""Trials that the search has paused, until they are among the best of their rung."""

from alembic import op

revision = "searcher_0005"
down_revision = "searcher_0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.trial ADD COLUMN is_held boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.trial DROP COLUMN is_held")
