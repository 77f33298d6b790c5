"""Time at which an experiment's budget must be checked next."""

from alembic import op

revision = "searcher_0012"
down_revision = "searcher_0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.experiment ADD COLUMN due_at timestamptz")
    op.execute("CREATE INDEX experiment_due ON searcher.experiment (due_at) WHERE due_at IS NOT NULL")


def downgrade() -> None:
    op.execute("DROP INDEX searcher.experiment_due")
    op.execute("ALTER TABLE searcher.experiment DROP COLUMN due_at")
