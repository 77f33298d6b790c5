"""Let the gateway read its schema's revision (0293), and add the lease of the replica that writes audit anchors (0294)."""

from alembic import op

from shared.database.leases import lease_table

revision = "gateway_0002"
down_revision = "gateway_0001"
branch_labels = None
depends_on = None
compatible_from = "gateway_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON gateway.alembic_version TO gateway_system")
    lease_table(op, "gateway")
