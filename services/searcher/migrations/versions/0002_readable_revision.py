"""Let the searcher read its schema's revision, which it only checks: migrations run apart, as the schema's owner (0293)."""

from alembic import op

revision = "searcher_0002"
down_revision = "searcher_0001"
branch_labels = None
depends_on = None
compatible_from = "searcher_0001"


def upgrade() -> None:
    op.execute("GRANT SELECT ON searcher.alembic_version TO searcher_system")
