"""Add browser sessions for a token, so that the browser does not store it; the token may have no account (decision 0197)."""

from alembic import op

revision = "gateway_0022"
down_revision = "gateway_0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.session ALTER COLUMN account DROP NOT NULL")
    op.execute(
        "ALTER TABLE gateway.session ADD COLUMN token uuid REFERENCES gateway.token (id) ON DELETE CASCADE"
    )
    op.execute("ALTER TABLE gateway.session ADD CHECK (account IS NOT NULL OR token IS NOT NULL)")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
