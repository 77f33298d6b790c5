"""Let the registry read its schema's revision, and create and drop partitions by two functions (0293)."""

from alembic import op

from shared.database.partitions import partition_functions

revision = "registry_0002"
down_revision = "registry_0001"
branch_labels = None
depends_on = None
compatible_from = "registry_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON registry.alembic_version TO registry_system")
    partition_functions(
        op, "registry", ("point_chunk", "log_chunk"), writer="registry_tenant", caller="registry_system"
    )
