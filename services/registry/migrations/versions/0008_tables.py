"""Add trial states, and an index of an experiment's series by metric, for the trial table."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE registry.trials ADD COLUMN state text,"
        " ADD COLUMN invalid boolean NOT NULL DEFAULT false, ADD COLUMN runs int NOT NULL DEFAULT 0,"
        " ADD COLUMN created_at timestamptz, ADD COLUMN ended_at timestamptz"
    )
    op.execute("ALTER TABLE registry.series ADD COLUMN experiment uuid")
    # Row-level security applies to the owner too, who has no tenant.
    for table in ("series", "trials"):
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE registry.series s SET experiment = t.experiment FROM registry.trials t WHERE t.id = s.trial"
    )
    # Reset the versions, so that republished events fill the new state columns.
    op.execute("UPDATE registry.trials SET changed_version = 0")
    for table in ("series", "trials"):
        op.execute(f"ALTER TABLE registry.{table} FORCE ROW LEVEL SECURITY")
    # Only immutable columns: columns that change with every batch must not be indexed.
    op.execute('CREATE INDEX series_by_metric ON registry.series (experiment, "group", name)')
    op.execute("CREATE INDEX runs_restarted ON registry.runs (experiment) WHERE number > 1")
