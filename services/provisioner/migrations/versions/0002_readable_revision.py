"""Let the provisioner read its schema's revision, which it only checks: migrations run apart, as the schema's owner (0293)."""

from alembic import op

revision = "provisioner_0002"
down_revision = "provisioner_0001"
branch_labels = None
depends_on = None
compatible_from = "provisioner_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON provisioner.alembic_version TO provisioner_system")
