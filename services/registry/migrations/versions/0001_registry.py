"""Initial tables of the registry. Points and logs are partitioned by day; all other tables are small in comparison."""

from alembic import op

from shared.database.engine import delivery_tables, protect

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = "registry"

FOLLOWED = (
    """CREATE TABLE registry.experiments (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, save_experiment_best int NOT NULL DEFAULT 0,
        save_trial_best int NOT NULL DEFAULT 1, save_trial_latest int NOT NULL DEFAULT 1,
        version bigint NOT NULL DEFAULT 0, is_final boolean NOT NULL DEFAULT false,
        final_at timestamptz, collected_at timestamptz)""",
    "CREATE INDEX experiments_to_collect ON registry.experiments (final_at) WHERE is_final AND collected_at IS NULL",
    """CREATE TABLE registry.trials (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL,
        newest_token bigint NOT NULL DEFAULT 0, wanted_version bigint NOT NULL DEFAULT 0,
        changed_version bigint NOT NULL DEFAULT 0, hyperparameters jsonb NOT NULL DEFAULT '{}', code_hash text,
        metric text, smaller_is_better boolean NOT NULL DEFAULT true, start_checkpoint uuid,
        upload_timeout_s double precision NOT NULL DEFAULT 300,
        is_final boolean NOT NULL DEFAULT false, final_at timestamptz)""",
    "CREATE INDEX trials_by_experiment ON registry.trials (experiment)",
    """CREATE INDEX trials_by_start ON registry.trials (start_checkpoint)
        WHERE start_checkpoint IS NOT NULL AND NOT is_final""",
    """CREATE TABLE registry.runs (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        number int NOT NULL, token bigint NOT NULL, version bigint NOT NULL DEFAULT 0, ending text,
        ended_at timestamptz, announced int, is_settled boolean NOT NULL DEFAULT false,
        is_stale boolean NOT NULL DEFAULT false, resumed_from bigint, restored uuid, superseded_after bigint,
        first_day date NOT NULL DEFAULT current_date)""",
    "CREATE INDEX runs_by_trial ON registry.runs (trial, number)",
    "CREATE INDEX runs_to_settle ON registry.runs (ended_at) WHERE ended_at IS NOT NULL AND NOT is_settled",
)

REPORTED = (
    # A mark includes its run's fence, so that one UPDATE advances the mark and reads the fence under one row lock.
    """CREATE TABLE registry.marks (
        run uuid NOT NULL, worker text NOT NULL, stream text NOT NULL, tenant uuid NOT NULL,
        next bigint NOT NULL DEFAULT 1, is_stale boolean NOT NULL, superseded_after bigint,
        PRIMARY KEY (run, worker, stream)) WITH (fillfactor = 70)""",
    """CREATE TABLE registry.series (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL,
        run uuid NOT NULL, "group" text NOT NULL, name text NOT NULL, count bigint NOT NULL DEFAULT 0,
        finite bigint NOT NULL DEFAULT 0, least double precision NOT NULL DEFAULT 'Infinity',
        greatest double precision NOT NULL DEFAULT '-Infinity', total double precision NOT NULL DEFAULT 0,
        last double precision NOT NULL DEFAULT 'NaN', last_step bigint NOT NULL DEFAULT -9223372036854775808,
        UNIQUE (run, "group", name)) WITH (fillfactor = 70)""",
    "CREATE INDEX series_by_trial ON registry.series (trial)",
    """CREATE TABLE registry.points (
        day date NOT NULL, tenant uuid NOT NULL, series bigint NOT NULL, seq bigint NOT NULL, step bigint NOT NULL,
        time_ms bigint NOT NULL, value double precision NOT NULL) PARTITION BY RANGE (day)""",
    "CREATE INDEX points_by_series ON registry.points (series, step)",
    """CREATE TABLE registry.validations (
        run uuid NOT NULL, number int NOT NULL, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        step bigint NOT NULL, time_ms bigint NOT NULL, values jsonb NOT NULL, token bigint NOT NULL,
        is_stale boolean NOT NULL, stored_at timestamptz NOT NULL, PRIMARY KEY (run, number))""",
    "CREATE INDEX validations_by_trial ON registry.validations (trial, step)",
    """CREATE TABLE registry.log_heads (
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, next bigint NOT NULL DEFAULT 1) WITH (fillfactor = 70)""",
    """CREATE TABLE registry.log_chunks (
        day date NOT NULL, tenant uuid NOT NULL, trial uuid NOT NULL, first bigint NOT NULL, lines int NOT NULL,
        run_number int NOT NULL, body bytea NOT NULL) PARTITION BY RANGE (day)""",
    "CREATE INDEX log_chunks_by_trial ON registry.log_chunks (trial, first)",
)

KEPT = (
    """CREATE TABLE registry.checkpoints (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, trial uuid NOT NULL, run uuid NOT NULL,
        run_number int NOT NULL, token bigint NOT NULL, number int NOT NULL, step bigint NOT NULL,
        state text NOT NULL, version bigint NOT NULL, attempts int NOT NULL DEFAULT 0, files int NOT NULL DEFAULT 0,
        size_bytes bigint NOT NULL DEFAULT 0, waits_for text[] NOT NULL DEFAULT '{}',
        metadata jsonb NOT NULL DEFAULT '{}', reason text, created_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL, UNIQUE (run, number))""",
    "CREATE INDEX checkpoints_by_trial ON registry.checkpoints (trial, token, step)",
    "CREATE INDEX checkpoints_by_experiment ON registry.checkpoints (experiment)",
    "CREATE INDEX checkpoints_to_delete ON registry.checkpoints (changed_at) WHERE state = 'deleting'",
    """CREATE TABLE registry.checkpoint_files (
        checkpoint uuid NOT NULL, path text NOT NULL, tenant uuid NOT NULL, worker text NOT NULL, key text NOT NULL,
        size_bytes bigint NOT NULL, sha256 text NOT NULL, PRIMARY KEY (checkpoint, path))""",
    """CREATE TABLE registry.artifacts (
        tenant uuid NOT NULL, kind text NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL, key text NOT NULL,
        created_at timestamptz NOT NULL, PRIMARY KEY (tenant, kind, sha256))""",
    """CREATE TABLE registry.models (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, name text NOT NULL, key text NOT NULL, description text NOT NULL,
        metadata jsonb NOT NULL, by text NOT NULL, version bigint NOT NULL, versions int NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL, UNIQUE (tenant, key))""",
    """CREATE TABLE registry.versions (
        id uuid PRIMARY KEY, tenant uuid NOT NULL, model uuid NOT NULL, number int NOT NULL, checkpoint uuid NOT NULL,
        name text NOT NULL, comment text NOT NULL, metadata jsonb NOT NULL, by text NOT NULL,
        lineage jsonb NOT NULL, created_at timestamptz NOT NULL, UNIQUE (model, number))""",
    "CREATE INDEX versions_by_checkpoint ON registry.versions (checkpoint)",
)

PROTECTED = (
    "experiments trials runs marks series points validations log_heads log_chunks"
    " checkpoints checkpoint_files artifacts models versions"
).split()


def upgrade() -> None:
    """Create all tables, protected by tenant, and those of the delivery loop."""
    for statement in (*FOLLOWED, *REPORTED, *KEPT):
        op.execute(statement)
    for table in PROTECTED:
        protect(op, SCHEMA, table)
    delivery_tables(op, SCHEMA)


def downgrade() -> None:
    """Not supported: this is the first revision."""
    raise NotImplementedError("the first revision is not taken back: drop the schema")
