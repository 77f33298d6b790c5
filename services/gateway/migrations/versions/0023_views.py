"""Add saved views of users (decision 0210)."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0023"
down_revision = "gateway_0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE gateway.view (tenant uuid NOT NULL, person uuid NOT NULL, name text NOT NULL,"
        " address text NOT NULL, saved_at timestamptz NOT NULL, PRIMARY KEY (tenant, person, name))"
    )
    protect(op, "gateway", "view")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
