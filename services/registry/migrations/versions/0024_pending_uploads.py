"""Store what an ended run's uploads wait for: whether a next run waits, for how long, and which workers do not respond."""

from alembic import op

from shared.database.engine import open_to_system

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None
compatible_from = "0023"


def upgrade() -> None:
    op.execute("ALTER TABLE registry.trials ADD COLUMN wanted text, ADD COLUMN request int")
    op.execute(
        "ALTER TABLE registry.runs ADD COLUMN request int, ADD COLUMN is_requeued boolean NOT NULL DEFAULT false,"
        " ADD COLUMN workers text[] NOT NULL DEFAULT '{}', ADD COLUMN responsive_s double precision NOT NULL DEFAULT 0,"
        " ADD COLUMN store_seen_at timestamptz, ADD COLUMN delayed text"
    )
    op.execute(
        "CREATE TABLE registry.workers (worker text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL)"
    )
    open_to_system(op, "registry", "workers")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
