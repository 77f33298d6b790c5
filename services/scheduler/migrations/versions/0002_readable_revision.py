"""Let the scheduler read its schema's revision, which it only checks: migrations run apart, as the schema's owner (0293)."""

from alembic import op

revision = "scheduler_0002"
down_revision = "scheduler_0001"
branch_labels = None
depends_on = None
compatible_from = "scheduler_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON scheduler.alembic_version TO scheduler_system")
