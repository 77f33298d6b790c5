"""Create the provisioner's tables."""

from alembic import op

from shared.database.engine import deletion_tables, delivery_tables, open_to_system
from shared.database.leases import lease_table

revision = "provisioner_0001"
down_revision = None
branch_labels = None
depends_on = None
compatible_from = "provisioner_0001"

SCHEMA = "provisioner"

TABLES = {
    # Machines from the launch to the end; rows stay as the cost ledger. `intent` is the launch.
    "instance": """(
        id uuid PRIMARY KEY, pool text NOT NULL, worker text NOT NULL UNIQUE, driver text NOT NULL,
        pool_index int NOT NULL, slots int NOT NULL, kind text NOT NULL, price_per_hour double precision NOT NULL,
        state text NOT NULL, since timestamptz NOT NULL, version bigint NOT NULL, reason text, ending text NOT NULL,
        attempts int NOT NULL, retry_at timestamptz, is_schedulable boolean NOT NULL, worker_version bigint NOT NULL,
        launched_at timestamptz, ready_at timestamptz, ended_at timestamptz, silent_since timestamptz, intent uuid,
        machine_kind text NOT NULL DEFAULT 'local', zone text, purchase text NOT NULL DEFAULT 'on_demand',
        external_id text, provider_ended_at timestamptz)""",
    # Each pool's provider. `demand_version` to `unaffordable_slots` hold the newest demand; `failures` and `retry_at` pause failing
    # launches. Without a `definition`, the process's settings define the pool.
    "provider": """(
        pool text PRIMARY KEY, version bigint NOT NULL, driver text NOT NULL, minimum int NOT NULL,
        maximum int NOT NULL, slots_per_instance int NOT NULL, slot_kind text, labels jsonb NOT NULL DEFAULT '{}',
        price_per_slot_hour double precision, instances int NOT NULL, fault text, failures int NOT NULL DEFAULT 0,
        retry_at timestamptz, demand_version bigint NOT NULL DEFAULT 0, demand_received_at timestamptz,
        demand_slot_kind text, waiting_slots int NOT NULL DEFAULT 0, idle_slots int NOT NULL DEFAULT 0,
        soon_slots int NOT NULL DEFAULT 0, largest_single_node int NOT NULL DEFAULT 0,
        single_node_sizes jsonb NOT NULL DEFAULT '[]', unaffordable_slots int NOT NULL DEFAULT 0, definition jsonb,
        is_closing boolean NOT NULL DEFAULT false)""",
    # Back-offs: paused offers of providers. An empty string stands for all offers of its provider.
    "launch_backoff": """(
        provider text NOT NULL, kind text NOT NULL, zone text NOT NULL, purchase text NOT NULL, cause text NOT NULL,
        reason text NOT NULL, failures int NOT NULL, since timestamptz NOT NULL, until timestamptz NOT NULL,
        PRIMARY KEY (provider, kind, zone, purchase))""",
}
INDEXES = (
    "CREATE INDEX instance_live ON provisioner.instance (pool) WHERE ended_at IS NULL",
    "CREATE INDEX instance_ended ON provisioner.instance (ended_at)",
    "CREATE INDEX instance_intent ON provisioner.instance (intent) WHERE intent IS NOT NULL",
)


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    deletion_tables(op, SCHEMA)
    lease_table(op, SCHEMA)
    for name, columns in TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for index in INDEXES:
        op.execute(index)
