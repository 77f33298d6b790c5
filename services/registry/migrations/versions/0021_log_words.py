"""Store whether the filter of a log object contains whole words; older filters are not searched for them."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.log_objects ADD COLUMN has_words boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
