"""Let the gateway read its schema's revision, which it only checks: migrations run apart, as the schema's owner (0293)."""

from alembic import op

revision = "gateway_0002"
down_revision = "gateway_0001"
branch_labels = None
depends_on = None
compatible_from = "gateway_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON gateway.alembic_version TO gateway_system")
