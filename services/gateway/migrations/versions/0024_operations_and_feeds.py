"""Let several callers have the same operation. Store where a feed begins, because deletions remove unread events (decision 0218)."""

from alembic import op

revision = "gateway_0024"
down_revision = "gateway_0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.ordered DROP CONSTRAINT ordered_pkey, ADD PRIMARY KEY (orderer, id)")
    op.execute("DROP INDEX gateway.ordered_orderer")
    op.execute("ALTER TABLE gateway.counter ADD COLUMN swept bigint NOT NULL DEFAULT 0")
    op.execute(
        "UPDATE gateway.counter c SET swept = coalesce("
        "(SELECT min(e.position) - 1 FROM gateway.event e WHERE e.tenant = c.tenant), c.events)"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
