"""Create the searcher's tables."""

from alembic import op

from shared.database.engine import deletion_tables, delivery_tables, open_to_system, protect

revision = "searcher_0001"
down_revision = None
branch_labels = None
depends_on = None
compatible_from = "searcher_0001"

SCHEMA = "searcher"

TENANT_TABLES = {
    # Experiments and the state of their searches. `dirty`: the newest change is not published yet; `limits`: edits of a running search, its
    # budget and the usage of it; `due_at`: when its budget must be checked next.
    "experiment": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, number integer NOT NULL, name text NOT NULL,
        config jsonb NOT NULL, seed bigint NOT NULL, code_hash text, start_checkpoint uuid,
        started_at timestamptz NOT NULL, state text NOT NULL, version bigint NOT NULL, position bigint NOT NULL,
        outcome text, reason text, priority integer, planned integer, archived boolean NOT NULL,
        progress double precision NOT NULL, best_trial integer, best_step bigint, best_value double precision,
        counts jsonb NOT NULL, ended_at timestamptz, dirty boolean NOT NULL, published_at timestamptz,
        workspace text NOT NULL DEFAULT 'Uncategorized', owner text NOT NULL DEFAULT '', limits jsonb,
        best_others jsonb, due_at timestamptz) WITH (fillfactor = 60)""",
    # Trials: desired state, settled runs, results, the checkpoints that they start from and saved, and the usage of their runs.
    "trial": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, experiment uuid NOT NULL, number integer NOT NULL,
        point jsonb NOT NULL, seed bigint NOT NULL, slots integer NOT NULL, created_at timestamptz NOT NULL,
        decide_at double precision, state text NOT NULL, version bigint NOT NULL, desired_state text NOT NULL,
        request_version bigint NOT NULL, request integer NOT NULL, is_stopped boolean NOT NULL,
        reached_max_time boolean NOT NULL,
        run integer NOT NULL, reported_run integer NOT NULL, reported_validation bigint NOT NULL,
        settled_run integer NOT NULL, settled_checkpoints integer NOT NULL, ended_run integer, ended_validations bigint,
        ended_checkpoints integer, closed_outcome text, closed_runs integer, closed_reason text,
        closed_at timestamptz, best_step bigint, best_value double precision, latest_step bigint,
        latest_value double precision, reason text, ended_at timestamptz, dirty boolean NOT NULL,
        is_paused_by_search boolean NOT NULL DEFAULT false, best_others jsonb, latest_others jsonb, source integer,
        start_checkpoint uuid, checkpoint uuid, checkpoint_run integer, checkpoint_step bigint,
        usage jsonb) WITH (fillfactor = 70)""",
    # Decisions of a search in their order.
    "journal": """(
        tenant uuid NOT NULL, experiment uuid NOT NULL, position bigint NOT NULL, at timestamptz NOT NULL,
        kind text NOT NULL, facts jsonb NOT NULL, PRIMARY KEY (experiment, position))""",
    # Saved states of long searches, so that a restart need not replay their journals from the start.
    "snapshot": """(
        tenant uuid NOT NULL, experiment uuid PRIMARY KEY, position bigint NOT NULL, code text NOT NULL,
        state bytea NOT NULL)""",
    # Driver programs of searches: name, time of the last contact, and the last acknowledged event.
    "driver": """(
        tenant uuid NOT NULL, experiment uuid PRIMARY KEY, name text, seen_at timestamptz NOT NULL,
        acknowledged bigint NOT NULL DEFAULT 0)""",
}
SITE_TABLES = {
    # Capacity and price of pools as the scheduler reports them. `used_version`: the version with which searches were last widened.
    "pool": """(
        pool text PRIMARY KEY, version bigint NOT NULL, idle_slots integer NOT NULL, waiting_slots integer NOT NULL,
        used_version bigint NOT NULL DEFAULT 0, price_per_slot_hour double precision)""",
}
INDEXES = (
    "CREATE INDEX experiment_dirty ON searcher.experiment (id) WHERE dirty",
    """CREATE INDEX experiment_start_checkpoint ON searcher.experiment (start_checkpoint)
        WHERE start_checkpoint IS NOT NULL""",
    """CREATE INDEX experiment_widening ON searcher.experiment (id)
        WHERE state = 'active' AND config #>> '{searcher,widen_to}' IS NOT NULL""",
    """CREATE INDEX experiment_driven ON searcher.experiment (id)
        WHERE state = 'active' AND config #>> '{searcher,driver_timeout}' IS NOT NULL""",
    "CREATE INDEX experiment_due ON searcher.experiment (due_at) WHERE due_at IS NOT NULL",
    "CREATE UNIQUE INDEX trial_number ON searcher.trial (experiment, number)",
    """CREATE INDEX trial_live ON searcher.trial (experiment, number)
        WHERE state IN ('queued', 'running', 'parked', 'stopping', 'finishing')""",
    "CREATE INDEX trial_dirty ON searcher.trial (id) WHERE dirty",
    "CREATE INDEX trial_settling ON searcher.trial (closed_at) WHERE state = 'finishing' AND closed_at IS NOT NULL",
    "CREATE INDEX trial_start_checkpoint ON searcher.trial (start_checkpoint) WHERE start_checkpoint IS NOT NULL",
)


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    deletion_tables(op, SCHEMA)
    for name, columns in TENANT_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        protect(op, SCHEMA, name)
    for name, columns in SITE_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for index in INDEXES:
        op.execute(index)
