"""Whose parts a checkpoint has, by the word of the gang's chief: what a machine sends that lost its part in the run is told apart."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE registry.checkpoints ADD COLUMN parts text[]")
