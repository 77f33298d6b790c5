"""Trials whose last checkpoints are on their way count as live too."""

from alembic import op

revision = "searcher_0015"
down_revision = "searcher_0014"
branch_labels = None
depends_on = None
# Earlier releases do not know the state "finishing".
compatible_from = "searcher_0015"


def upgrade() -> None:
    op.execute("DROP INDEX searcher.trial_live")
    op.execute("DROP INDEX searcher.trial_settling")
    op.execute(
        "CREATE INDEX trial_live ON searcher.trial (experiment, number)"
        " WHERE state IN ('queued', 'running', 'parked', 'stopping', 'finishing')"
    )
    op.execute(
        "CREATE INDEX trial_settling ON searcher.trial (closed_at)"
        " WHERE state = 'finishing' AND closed_at IS NOT NULL"
    )
