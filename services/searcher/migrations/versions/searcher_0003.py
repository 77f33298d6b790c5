"""Owner of an experiment, for the scheduler's fair shares. Earlier experiments keep the defaults."""

from alembic import op

revision = "searcher_0003"
down_revision = "searcher_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE searcher.experiment ADD COLUMN workspace text NOT NULL DEFAULT 'Uncategorized',"
        " ADD COLUMN owner text NOT NULL DEFAULT ''"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.experiment DROP COLUMN workspace, DROP COLUMN owner")
