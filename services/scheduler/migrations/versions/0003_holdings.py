"""Usage entries: who held how many slots from when until when. Earlier usage is derived from runs, from grant to end."""

from alembic import op

from shared.database.engine import protect

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE scheduler.holding (allocation uuid NOT NULL, worker text NOT NULL, since timestamptz NOT NULL,"
        " tenant uuid NOT NULL, workspace text NOT NULL, owner text NOT NULL, experiment uuid NOT NULL,"
        " pool text NOT NULL, slots numeric NOT NULL, until timestamptz, PRIMARY KEY (allocation, worker, since))"
    )
    op.execute(
        "INSERT INTO scheduler.holding"
        " SELECT r.allocation, m ->> 'worker', r.granted_at, r.tenant, 'Uncategorized', '', r.experiment, r.pool,"
        " (m ->> 'slots')::numeric, r.ended_at FROM scheduler.run r, jsonb_array_elements(r.members) m"
        " WHERE (m ->> 'slots')::numeric > 0"
    )
    op.execute("CREATE INDEX holding_period ON scheduler.holding (tenant, until)")
    op.execute("CREATE INDEX holding_open ON scheduler.holding (worker) WHERE until IS NULL")
    protect(op, "scheduler", "holding")
