"""Add long operations, which take longer than their request waits."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0013"
down_revision = "gateway_0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE gateway.ordered (tenant uuid NOT NULL, id uuid PRIMARY KEY, operation text NOT NULL,"
        " orderer uuid NOT NULL, entity uuid, version bigint NOT NULL, position bigint NOT NULL,"
        " created_at timestamptz NOT NULL)"
    )
    op.execute("CREATE INDEX ordered_orderer ON gateway.ordered (orderer, id)")
    protect(op, "gateway", "ordered")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
