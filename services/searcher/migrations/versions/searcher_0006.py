"""Price of a pool's slot for an hour, as the scheduler reports it."""

from alembic import op

revision = "searcher_0006"
down_revision = "searcher_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE searcher.pool ADD COLUMN price_per_slot_hour double precision")


def downgrade() -> None:
    op.execute("ALTER TABLE searcher.pool DROP COLUMN price_per_slot_hour")
