"""Usage of a trial's runs, so that a search started without a budget can be given one."""

from alembic import op

revision = "searcher_0013"
down_revision = "searcher_0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.trial ADD COLUMN account jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.trial DROP COLUMN account")
