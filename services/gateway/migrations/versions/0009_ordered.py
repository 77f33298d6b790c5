"""Add the feed position at which a request with an idempotency key arrived; its outcome is after it."""

from alembic import op

revision = "gateway_0009"
down_revision = "gateway_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.idempotency ADD COLUMN position bigint NOT NULL DEFAULT 0")
