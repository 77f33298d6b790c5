"""Where the feed stood when a request with an idempotency key came: its outcome is told behind that."""

from alembic import op

revision = "gateway_0009"
down_revision = "gateway_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.idempotency ADD COLUMN position bigint NOT NULL DEFAULT 0")
