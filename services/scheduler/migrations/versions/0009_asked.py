"""Why a run was asked for its slots, and for which waiting trial."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.run ADD COLUMN asked_because text, ADD COLUMN asked_for uuid")
