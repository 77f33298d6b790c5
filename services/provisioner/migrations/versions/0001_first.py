"""The provisioner's tables: instances (rows stay as the cost ledger) and the state of each pool's provider."""

from alembic import op

from shared.database.engine import delivery_tables, open_to_system
from shared.database.leases import lease_table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = "provisioner"

TABLES = {
    "instance": """(
        id uuid PRIMARY KEY, pool text NOT NULL, worker text NOT NULL UNIQUE, driver text NOT NULL,
        seat int NOT NULL, slots int NOT NULL, kind text NOT NULL, price_per_hour double precision NOT NULL,
        state text NOT NULL, since timestamptz NOT NULL, version bigint NOT NULL, reason text, ending text NOT NULL,
        attempts int NOT NULL, retry_at timestamptz, is_open boolean NOT NULL, worker_version bigint NOT NULL,
        launched_at timestamptz, ready_at timestamptz, ended_at timestamptz)""",
    # `waiting` to `heard_at` hold the newest demand; `failures` and `retry_at` pause failing launches.
    "provider": """(
        pool text PRIMARY KEY, version bigint NOT NULL, driver text NOT NULL, minimum int NOT NULL,
        maximum int NOT NULL, slots_per_instance int NOT NULL, instances int NOT NULL, fault text,
        failures int NOT NULL DEFAULT 0, retry_at timestamptz, demand_version bigint NOT NULL DEFAULT 0,
        waiting int NOT NULL DEFAULT 0, idle int NOT NULL DEFAULT 0, soon int NOT NULL DEFAULT 0, kind text,
        heard_at timestamptz)""",
}
INDEXES = (
    "CREATE INDEX instance_live ON provisioner.instance (pool) WHERE ended_at IS NULL",
    "CREATE INDEX instance_ended ON provisioner.instance (ended_at)",
)


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    lease_table(op, SCHEMA)
    for name, columns in TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for index in INDEXES:
        op.execute(index)
