"""The newest event of each entity stays in the outbox."""

from alembic import op

from shared.database.engine import remember_entities

revision = "searcher_0002"
down_revision = "searcher_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    remember_entities(op, "searcher")
