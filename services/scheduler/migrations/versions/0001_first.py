"""The scheduler's tables: requests, trials, runs with their allocations, workers, pools, join tokens."""

from alembic import op

from shared.database.engine import delivery_tables, open_to_system, protect
from shared.database.leases import lease_table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = "scheduler"

OF_TENANTS = {
    # Written by handlers only: the newest request as received, `spec` unread.
    "wanted": """(
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, version bigint NOT NULL,
        request int NOT NULL, wanted text NOT NULL, decide_at double precision, spec jsonb NOT NULL,
        traceparent text, stored_at timestamptz NOT NULL DEFAULT now())""",
    # Written by the cycle only.
    "trial": """(
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, version bigint NOT NULL,
        request int NOT NULL, wanted text NOT NULL, decide_at double precision, state text NOT NULL,
        place bigint NOT NULL, since timestamptz NOT NULL, restarts int NOT NULL, fruitless int NOT NULL,
        runs int NOT NULL, best_step bigint NOT NULL, run uuid, awaited_run uuid, awaited_announced int,
        awaited_until timestamptz) WITH (fillfactor = 70)""",
    # Written by the cycle, except `settled`, which the handler of checkpoint events increases.
    "run": """(
        run uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        allocation uuid NOT NULL UNIQUE, token bigint NOT NULL UNIQUE, number int NOT NULL, request int NOT NULL,
        generation int NOT NULL, version bigint NOT NULL, pool text NOT NULL, state text NOT NULL,
        members jsonb NOT NULL, preempted boolean NOT NULL, is_stale boolean NOT NULL, step bigint NOT NULL,
        announced int, settled int NOT NULL DEFAULT 0, granted_at timestamptz NOT NULL, ended_at timestamptz,
        UNIQUE (trial, number)) WITH (fillfactor = 70)""",
    "part": """(
        experiment uuid PRIMARY KEY, tenant uuid NOT NULL, priority int NOT NULL CHECK (priority BETWEEN 1 AND 99),
        weight double precision NOT NULL CHECK (weight > 0), max_slots int CHECK (max_slots >= 0), pool text)""",
}
OF_THE_SITE = {
    "pool": """(
        name text PRIMARY KEY, kind text, preemption boolean NOT NULL, exclusive boolean NOT NULL,
        auxiliary_per_worker int NOT NULL, default_priority int NOT NULL, max_slots int, max_slots_per_worker int,
        provider_version bigint NOT NULL DEFAULT 0)""",
    # `drain_asked`, `reclaim` and `is_removed` are written by handlers, credentials by `join` and `renew`, the rest by the cycle.
    "worker": """(
        worker text PRIMARY KEY, pool text NOT NULL, address text NOT NULL DEFAULT '', kind text,
        slot_ids int[] NOT NULL DEFAULT '{}', liveness text NOT NULL, drain text NOT NULL DEFAULT 'open',
        drain_asked boolean NOT NULL DEFAULT false, reclaim boolean NOT NULL DEFAULT false,
        is_removed boolean NOT NULL DEFAULT false, is_isolated boolean NOT NULL DEFAULT false,
        version bigint NOT NULL DEFAULT 0, joined_at timestamptz NOT NULL DEFAULT now(), user_key text,
        credentials_until timestamptz)""",
    "join_token": """(
        hash bytea PRIMARY KEY, pool text NOT NULL, worker text, expires_at timestamptz NOT NULL,
        used_by text, used_key text, used_at timestamptz)""",
}
INDEXES = (
    "CREATE INDEX wanted_lately ON scheduler.wanted (stored_at)",
    "CREATE INDEX trial_live ON scheduler.trial (trial) WHERE state <> 'closed'",
    "CREATE INDEX trial_awaiting ON scheduler.trial (awaited_until) WHERE awaited_run IS NOT NULL",
    "CREATE INDEX run_live ON scheduler.run (run) WHERE state <> 'ended'",
)


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    lease_table(op, SCHEMA)
    for name, columns in OF_TENANTS.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        protect(op, SCHEMA, name)
    for name, columns in OF_THE_SITE.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for index in INDEXES:
        op.execute(index)
    # Tokens increase across terms: each leader reserves blocks of a million.
    op.execute(f"CREATE SEQUENCE {SCHEMA}.token_block")
    op.execute(f"GRANT USAGE ON SEQUENCE {SCHEMA}.token_block TO {SCHEMA}_system")
