"""Add quotas: open experiments per tenant and workspace, and requests per second."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0014"
down_revision = "gateway_0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE gateway.quota (tenant uuid NOT NULL, workspace text NOT NULL, max_experiments integer,"
        " requests_per_s double precision, changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, workspace))"
    )
    protect(op, "gateway", "quota")
    op.execute("CREATE INDEX experiment_open ON gateway.experiment (tenant, workspace) WHERE NOT final")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
