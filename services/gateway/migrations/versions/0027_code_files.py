"""Add the file paths of code archives, for checking entrypoints; null for code stored earlier (decision 0261)."""

from alembic import op

revision = "gateway_0027"
down_revision = "gateway_0026"
branch_labels = None
depends_on = None
compatible_from = "gateway_0025"


def upgrade() -> None:
    op.execute("ALTER TABLE gateway.code ADD COLUMN files text[]")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
