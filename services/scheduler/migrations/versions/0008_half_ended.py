"""Fields for a run that is ending: the exits of its members, and whether it was asked to pause."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.run ADD COLUMN exits jsonb NOT NULL DEFAULT '[]'")
    op.execute("ALTER TABLE scheduler.run ADD COLUMN first_exit_at timestamptz")
    op.execute("ALTER TABLE scheduler.run ADD COLUMN pause_asked boolean NOT NULL DEFAULT false")
