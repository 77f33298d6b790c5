"""Store the phases of runs as reported by workers, by kind and number."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.runs ADD COLUMN phases jsonb")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
