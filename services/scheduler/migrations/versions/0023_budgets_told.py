"""Budget thresholds that were published, so that each is published once a month."""

from alembic import op

from shared.database.engine import protect

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE scheduler.budget_told (tenant uuid NOT NULL, workspace text NOT NULL, month timestamptz NOT NULL,"
        " per_month double precision NOT NULL, percent integer NOT NULL, PRIMARY KEY (tenant, workspace, month, per_month, percent))"
    )
    protect(op, "scheduler", "budget_told")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
