"""The newest event of each entity stays in the outbox."""

from alembic import op

from shared.database.engine import remember_entities

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    remember_entities(op, "provisioner")
