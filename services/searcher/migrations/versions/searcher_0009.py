"""Driver programs of searches: name, time of the last contact, and the last acknowledged event."""

from alembic import op

from shared.database.engine import protect

revision = "searcher_0009"
down_revision = "searcher_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE searcher.driver (tenant uuid NOT NULL, experiment uuid PRIMARY KEY, name text,"
        " seen_at timestamptz NOT NULL, acknowledged bigint NOT NULL DEFAULT 0)"
    )
    protect(op, "searcher", "driver")
    op.execute(
        "CREATE INDEX experiment_driven ON searcher.experiment (id)"
        " WHERE state = 'active' AND config #>> '{searcher,driver_timeout}' IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DROP INDEX searcher.experiment_driven")
    op.execute("DROP TABLE searcher.driver")
