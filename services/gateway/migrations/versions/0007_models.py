"""Add workspace, tags and deletion marks to models."""

from alembic import op

revision = "gateway_0007"
down_revision = "gateway_0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE gateway.model ADD COLUMN workspace text NOT NULL DEFAULT 'Uncategorized',"
        " ADD COLUMN tags text[] NOT NULL DEFAULT '{}', ADD COLUMN is_deleted boolean NOT NULL DEFAULT false"
    )
    op.execute("ALTER TABLE gateway.model_version ADD COLUMN is_deleted boolean NOT NULL DEFAULT false")
