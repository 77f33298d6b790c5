"""Values of a result besides the first metric: further metrics, and metrics of limits."""

from alembic import op

revision = "searcher_0008"
down_revision = "searcher_0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.experiment ADD COLUMN best_others jsonb")
    op.execute("ALTER TABLE searcher.trial ADD COLUMN best_others jsonb, ADD COLUMN latest_others jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.trial DROP COLUMN best_others, DROP COLUMN latest_others")
    op.execute("ALTER TABLE searcher.experiment DROP COLUMN best_others")
