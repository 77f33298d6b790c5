"""What a table of trials needs: where each stands, and the series of a whole experiment by their metric."""

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
    # Their owner is held to row-level security too, and has no tenant.
    for table in ("series", "trials"):
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE registry.series s SET experiment = t.experiment FROM registry.trials t WHERE t.id = s.trial"
    )
    # What is said again of a trial counts although its version is known: where it stands was not kept until now.
    op.execute("UPDATE registry.trials SET changed_version = 0")
    for table in ("series", "trials"):
        op.execute(f"ALTER TABLE registry.{table} FORCE ROW LEVEL SECURITY")
    # Of columns that never change: what moves with every batch stays out of every index.
    op.execute('CREATE INDEX series_by_metric ON registry.series (experiment, "group", name)')
    op.execute("CREATE INDEX runs_restarted ON registry.runs (experiment) WHERE number > 1")
