"""Monthly budgets of tenants and workspaces."""

from alembic import op

from shared.database.engine import protect

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE scheduler.budget (tenant uuid NOT NULL, workspace text NOT NULL, per_month double precision NOT NULL,"
        " preempts boolean NOT NULL, PRIMARY KEY (tenant, workspace))"
    )
    protect(op, "scheduler", "budget")
