"""Capacity of pools as the scheduler reports it, and the searches that it may widen."""

from alembic import op

from shared.database.engine import open_to_system

revision = "searcher_0004"
down_revision = "searcher_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # `used_version`: the version with which searches were last widened.
    op.execute(
        "CREATE TABLE searcher.pool (pool text PRIMARY KEY, version bigint NOT NULL, idle_slots int NOT NULL,"
        " waiting_slots int NOT NULL, used_version bigint NOT NULL DEFAULT 0)"
    )
    open_to_system(op, "searcher", "pool")
    op.execute(
        "CREATE INDEX experiment_widening ON searcher.experiment (id)"
        " WHERE state = 'active' AND config #>> '{searcher,widen_to}' IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DROP INDEX searcher.experiment_widening")
    op.execute("DROP TABLE searcher.pool")
