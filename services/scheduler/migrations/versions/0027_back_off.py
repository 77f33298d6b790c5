"""When a trial may be granted again. Replaces the upload deadline: only the registry abandons uploads."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None
# Earlier releases read the column that this one drops.
compatible_from = "0027"


def upgrade() -> None:
    op.execute("DROP INDEX scheduler.trial_awaiting")
    op.execute("ALTER TABLE scheduler.trial DROP COLUMN awaited_until, ADD COLUMN not_before timestamptz")
    op.execute("CREATE INDEX trial_awaiting ON scheduler.trial (awaited_run) WHERE awaited_run IS NOT NULL")
