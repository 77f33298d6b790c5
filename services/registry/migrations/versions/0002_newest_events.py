"""Keep the newest event of each entity in the outbox."""

from alembic import op

from shared.database.engine import remember_entities

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    remember_entities(op, "registry")
