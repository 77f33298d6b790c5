"""Whether a pool's policy was edited, so that settings no longer overwrite it; the version of each quota."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.pool ADD COLUMN is_edited boolean NOT NULL DEFAULT false")
    op.execute("ALTER TABLE scheduler.quota ADD COLUMN version bigint NOT NULL DEFAULT 0")
