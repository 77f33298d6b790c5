"""Trials that start from the checkpoints of others, and the newest checkpoint of each trial."""

from alembic import op

revision = "searcher_0010"
down_revision = "searcher_0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE searcher.trial ADD COLUMN source int, ADD COLUMN start_checkpoint uuid,"
        " ADD COLUMN checkpoint uuid, ADD COLUMN checkpoint_run int, ADD COLUMN checkpoint_step bigint"
    )
    op.execute(
        "CREATE INDEX trial_start_checkpoint ON searcher.trial (start_checkpoint)"
        " WHERE start_checkpoint IS NOT NULL"
    )


def downgrade() -> None:
    op.execute(
        "ALTER TABLE searcher.trial DROP COLUMN source, DROP COLUMN start_checkpoint,"
        " DROP COLUMN checkpoint, DROP COLUMN checkpoint_run, DROP COLUMN checkpoint_step"
    )
