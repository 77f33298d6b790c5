"""Whether a pool's provider is closing the pool, and why it cannot add machines."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE scheduler.pool ADD COLUMN is_closing boolean NOT NULL DEFAULT false,"
        " ADD COLUMN provider_fault text"
    )
