"""Add storage limits of tenants."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0008"
down_revision = "gateway_0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE gateway.storage_limit (tenant uuid PRIMARY KEY, maximum_bytes bigint, version bigint NOT NULL)"
    )
    protect(op, "gateway", "storage_limit")
