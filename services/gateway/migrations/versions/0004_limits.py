"""Add the slot limits of tenants and workspaces per pool."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0004"
down_revision = "gateway_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # An empty workspace: the tenant as a whole.
    op.execute(
        "CREATE TABLE gateway.limits (tenant uuid NOT NULL, workspace text NOT NULL, pool text NOT NULL,"
        " guaranteed integer NOT NULL, maximum integer, weight double precision NOT NULL, version bigint NOT NULL,"
        " PRIMARY KEY (tenant, workspace, pool))"
    )
    protect(op, "gateway", "limits")
