"""Add one-time links that sign a browser in with the token of their creator."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0026"
down_revision = "gateway_0025"
branch_labels = None
depends_on = None
compatible_from = "gateway_0025"


def upgrade() -> None:
    op.execute(
        "CREATE TABLE gateway.sign_in_link (tenant uuid NOT NULL, id uuid PRIMARY KEY,"
        " token uuid NOT NULL REFERENCES gateway.token (id) ON DELETE CASCADE, hash bytea NOT NULL UNIQUE,"
        " created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, used_at timestamptz)"
    )
    op.execute("CREATE INDEX sign_in_link_end ON gateway.sign_in_link (expires_at)")
    protect(op, "gateway", "sign_in_link")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
