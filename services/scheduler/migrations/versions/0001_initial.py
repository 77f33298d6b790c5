"""Create the scheduler's tables."""

from alembic import op

from shared.database.engine import deletion_tables, delivery_tables, open_to_system, protect
from shared.database.leases import lease_table

revision = "scheduler_0001"
down_revision = None
branch_labels = None
depends_on = None
compatible_from = "scheduler_0001"

SCHEMA = "scheduler"

TENANT_TABLES = {
    # The newest request of each trial as received, with its `spec` unparsed. Written by handlers only.
    "trial_request": """(
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, version bigint NOT NULL,
        request int NOT NULL, desired_state text NOT NULL, decide_at double precision, spec jsonb NOT NULL,
        traceparent text, stored_at timestamptz NOT NULL DEFAULT now())""",
    # Trials and their order of submission. `excluded`: workers that log policies exclude. Written by the cycle only.
    "trial": """(
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, version bigint NOT NULL,
        request int NOT NULL, desired_state text NOT NULL, decide_at double precision, state text NOT NULL,
        submission_order bigint NOT NULL, since timestamptz NOT NULL, restarts int NOT NULL,
        runs_without_progress int NOT NULL,
        runs int NOT NULL, best_step bigint NOT NULL, run uuid, awaited_run uuid, awaited_checkpoints int,
        submitted_at timestamptz, preemptions int NOT NULL DEFAULT 0, time_slice_ended_at timestamptz, elastic jsonb,
        excluded jsonb NOT NULL DEFAULT '[]', ignores_signals boolean NOT NULL DEFAULT false,
        not_before timestamptz) WITH (fillfactor = 70)""",
    # Runs with their allocations. Written by the cycle, except `settled`, which the handler of checkpoint events increases.
    "run": """(
        run uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        allocation uuid NOT NULL UNIQUE, token bigint NOT NULL UNIQUE, number int NOT NULL, request int NOT NULL,
        generation int NOT NULL, version bigint NOT NULL, pool text NOT NULL, state text NOT NULL,
        members jsonb NOT NULL, preempted boolean NOT NULL, is_stale boolean NOT NULL, step bigint NOT NULL,
        announced int, settled int NOT NULL DEFAULT 0, granted_at timestamptz NOT NULL, ended_at timestamptz,
        exits jsonb NOT NULL DEFAULT '[]', first_exit_at timestamptz, pause_requested boolean NOT NULL DEFAULT false,
        preemption_cause text, preempted_for uuid, resume_slots int, live_resize jsonb, pause_times jsonb,
        UNIQUE (trial, number)) WITH (fillfactor = 70)""",
    # Scheduling policies of experiments.
    "experiment_policy": """(
        experiment uuid PRIMARY KEY, tenant uuid NOT NULL, priority int NOT NULL CHECK (priority BETWEEN 1 AND 99),
        weight double precision NOT NULL CHECK (weight > 0), max_slots int CHECK (max_slots >= 0), pool text,
        max_trials int CHECK (max_trials >= 1))""",
    # Usage entries: allocated slots of a worker from `since` to `until`, at the pool's price at the start.
    "usage_entry": """(
        allocation uuid NOT NULL, worker text NOT NULL, since timestamptz NOT NULL, tenant uuid NOT NULL,
        workspace text NOT NULL, owner text NOT NULL, experiment uuid NOT NULL, pool text NOT NULL,
        slots numeric NOT NULL, until timestamptz, price_per_slot_hour double precision,
        PRIMARY KEY (allocation, worker, since))""",
    # Monthly budgets of tenants and workspaces.
    "budget": """(
        tenant uuid NOT NULL, workspace text NOT NULL, per_month double precision NOT NULL,
        preempts boolean NOT NULL, PRIMARY KEY (tenant, workspace))""",
    # Budget thresholds that were published, so that each is published once a month.
    "budget_notice": """(
        tenant uuid NOT NULL, workspace text NOT NULL, month timestamptz NOT NULL, per_month double precision NOT NULL,
        percent int NOT NULL, PRIMARY KEY (tenant, workspace, month, per_month, percent))""",
}
SITE_TABLES = {
    # Pools. `rules`: the policy fields without a column; `is_edited`: settings no longer overwrite the policy.
    "pool": """(
        name text PRIMARY KEY, kind text, preemption boolean NOT NULL, exclusive boolean NOT NULL,
        auxiliary_per_worker int NOT NULL, default_priority int NOT NULL, max_slots int, max_slots_per_worker int,
        provider_version bigint NOT NULL DEFAULT 0, rules jsonb NOT NULL DEFAULT '{}',
        is_edited boolean NOT NULL DEFAULT false, provided_kind text, provided_labels jsonb NOT NULL DEFAULT '{}',
        price_per_slot_hour double precision, is_closing boolean NOT NULL DEFAULT false, provider_fault text)""",
    # Quotas of pools. An empty workspace means the tenant as a whole.
    "quota": """(
        pool text NOT NULL, tenant uuid NOT NULL, workspace text NOT NULL DEFAULT '',
        guaranteed int NOT NULL CHECK (guaranteed >= 0), maximum int CHECK (maximum >= guaranteed),
        weight double precision NOT NULL CHECK (weight > 0), version bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (pool, tenant, workspace))""",
    # Reservations of slots for a time window. An empty workspace means the tenant as a whole.
    "reservation": """(
        reservation uuid PRIMARY KEY, pool text NOT NULL, tenant uuid NOT NULL, workspace text NOT NULL DEFAULT '',
        slots int NOT NULL CHECK (slots > 0), begins_at timestamptz NOT NULL,
        ends_at timestamptz NOT NULL CHECK (ends_at > begins_at))""",
    # Workers. `drain_requested`, `reclaim`, `is_removed` and `disabled_slots` are written by handlers, credentials by `join` and `renew`, the
    # rest by the cycle.
    "worker": """(
        worker text PRIMARY KEY, pool text NOT NULL, address text NOT NULL DEFAULT '', kind text,
        slot_ids int[] NOT NULL DEFAULT '{}', liveness text NOT NULL, drain text NOT NULL DEFAULT 'open',
        drain_requested boolean NOT NULL DEFAULT false, reclaim boolean NOT NULL DEFAULT false,
        is_removed boolean NOT NULL DEFAULT false, is_isolated boolean NOT NULL DEFAULT false,
        version bigint NOT NULL DEFAULT 0, joined_at timestamptz NOT NULL DEFAULT now(), user_key text,
        credentials_until timestamptz, labels jsonb NOT NULL DEFAULT '{}',
        disabled_slots int[] NOT NULL DEFAULT '{}')""",
    # One-time tokens with which workers join.
    "join_token": """(
        hash bytea PRIMARY KEY, pool text NOT NULL, worker text, expires_at timestamptz NOT NULL,
        used_by text, used_key text, used_at timestamptz)""",
}
INDEXES = (
    "CREATE INDEX trial_request_by_age ON scheduler.trial_request (stored_at)",
    "CREATE INDEX trial_live ON scheduler.trial (trial) WHERE state <> 'closed'",
    "CREATE INDEX trial_awaiting ON scheduler.trial (awaited_run) WHERE awaited_run IS NOT NULL",
    "CREATE INDEX run_live ON scheduler.run (run) WHERE state <> 'ended'",
    "CREATE INDEX run_by_end ON scheduler.run (ended_at) WHERE ended_at IS NOT NULL",
    "CREATE INDEX run_with_pause_times ON scheduler.run (token) WHERE pause_times IS NOT NULL",
    "CREATE INDEX usage_entry_by_tenant ON scheduler.usage_entry (tenant, until)",
    "CREATE INDEX usage_entry_open ON scheduler.usage_entry (worker) WHERE until IS NULL",
    "CREATE INDEX usage_entry_by_end ON scheduler.usage_entry (until)",
)


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    deletion_tables(op, SCHEMA)
    lease_table(op, SCHEMA)
    for name, columns in TENANT_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        protect(op, SCHEMA, name)
    for name, columns in SITE_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for index in INDEXES:
        op.execute(index)
    # Tokens increase across terms: each leader reserves blocks of a million.
    op.execute(f"CREATE SEQUENCE {SCHEMA}.token_block")
    op.execute(f"GRANT USAGE ON SEQUENCE {SCHEMA}.token_block TO {SCHEMA}_system")
