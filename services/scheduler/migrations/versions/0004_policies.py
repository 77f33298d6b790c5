"""Policies and quotas of pools, limits on concurrent trials, and the fields of a trial that ageing and preemption need."""

from alembic import op

from shared.database.engine import open_to_system

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The policy fields without a column: order, ageing, half-life, min_run, max_preemptions.
    op.execute("ALTER TABLE scheduler.pool ADD COLUMN rules jsonb NOT NULL DEFAULT '{}'")
    op.execute("ALTER TABLE scheduler.part ADD COLUMN max_trials int CHECK (max_trials >= 1)")
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN submitted_at timestamptz")
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN preemptions int NOT NULL DEFAULT 0")
    # An empty workspace means the tenant as a whole.
    op.execute(
        "CREATE TABLE scheduler.quota (pool text NOT NULL, tenant uuid NOT NULL, workspace text NOT NULL DEFAULT '',"
        " guaranteed int NOT NULL CHECK (guaranteed >= 0), maximum int CHECK (maximum >= guaranteed),"
        " weight double precision NOT NULL CHECK (weight > 0), PRIMARY KEY (pool, tenant, workspace))"
    )
    open_to_system(op, "scheduler", "quota")
