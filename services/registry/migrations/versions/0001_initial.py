"""Create the registry's tables. Points and log lines are partitioned by day; all other tables are small in comparison."""

from alembic import op

from shared.database.engine import deletion_tables, delivery_tables, open_to_system, protect

revision = "registry_0001"
down_revision = None
branch_labels = None
depends_on = None
compatible_from = "registry_0001"

SCHEMA = "registry"

TENANT_TABLES = {
    # Experiments with their retention rules. Without a value, the rules of the workspace or the tenant apply.
    "experiment": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, save_experiment_best int NOT NULL DEFAULT 0,
        save_trial_best int NOT NULL DEFAULT 1, save_trial_latest int NOT NULL DEFAULT 1,
        version bigint NOT NULL DEFAULT 0, is_final boolean NOT NULL DEFAULT false, final_at timestamptz,
        collected_at timestamptz, number int, name text, datasets jsonb NOT NULL DEFAULT '[]',
        metric_detail_days int, metric_retention_days int, is_policy_edited boolean NOT NULL DEFAULT false,
        workspace text, log_retention_days int, code_hash text)""",
    # Trials as the searcher publishes them.
    "trial": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL,
        newest_token bigint NOT NULL DEFAULT 0, request_version bigint NOT NULL DEFAULT 0,
        changed_version bigint NOT NULL DEFAULT 0, hyperparameters jsonb NOT NULL DEFAULT '{}', code_hash text,
        metric text, smaller_is_better boolean NOT NULL DEFAULT true, start_checkpoint uuid,
        upload_timeout_s double precision NOT NULL DEFAULT 300, is_final boolean NOT NULL DEFAULT false,
        final_at timestamptz, number int, state text, invalid boolean NOT NULL DEFAULT false,
        runs int NOT NULL DEFAULT 0, created_at timestamptz, ended_at timestamptz,
        media_packs bigint NOT NULL DEFAULT 0, desired_state text, request int)""",
    # Runs as the scheduler publishes them, their phases, and what their pending uploads wait for.
    "run": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        number int NOT NULL, token bigint NOT NULL, version bigint NOT NULL DEFAULT 0, termination text,
        ended_at timestamptz, announced int, is_settled boolean NOT NULL DEFAULT false,
        is_stale boolean NOT NULL DEFAULT false, resumed_from bigint, restored uuid, superseded_after bigint,
        first_day date NOT NULL DEFAULT current_date, granted_at timestamptz, slots double precision, outcome text,
        phases jsonb, request int, is_requeued boolean NOT NULL DEFAULT false, workers text[] NOT NULL DEFAULT '{}',
        responsive_s double precision NOT NULL DEFAULT 0, store_seen_at timestamptz, delay_reason text)""",
    # The next record of each report stream. A cursor includes its run's fence, so that one UPDATE advances the cursor and reads the fence under one row lock.
    "report_cursor": """(
        run uuid NOT NULL, worker text NOT NULL, stream text NOT NULL, tenant uuid NOT NULL,
        next bigint NOT NULL DEFAULT 1, is_stale boolean NOT NULL, superseded_after bigint,
        PRIMARY KEY (run, worker, stream)) WITH (fillfactor = 70)""",
    # Metrics: one row per series of a run, and its points in chunks.
    "series": """(
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL,
        run uuid NOT NULL, "group" text NOT NULL, name text NOT NULL, count bigint NOT NULL DEFAULT 0,
        finite bigint NOT NULL DEFAULT 0, least double precision NOT NULL DEFAULT 'Infinity',
        greatest double precision NOT NULL DEFAULT '-Infinity', total double precision NOT NULL DEFAULT 0,
        last double precision NOT NULL DEFAULT 'NaN', last_step bigint NOT NULL DEFAULT -9223372036854775808,
        first_step bigint NOT NULL DEFAULT 9223372036854775807, experiment uuid,
        UNIQUE (run, "group", name)) WITH (fillfactor = 70)""",
    "point_chunk": """(
        day date NOT NULL, tenant uuid NOT NULL, series bigint NOT NULL, count int NOT NULL,
        is_thinned boolean NOT NULL DEFAULT false, first_step bigint NOT NULL, last_step bigint NOT NULL,
        body bytea NOT NULL, rolled_up bytea) PARTITION BY RANGE (day)""",
    "validation": """(
        run uuid NOT NULL, number int NOT NULL, tenant uuid NOT NULL, trial uuid NOT NULL, experiment uuid NOT NULL,
        step bigint NOT NULL, time_ms bigint NOT NULL, values jsonb NOT NULL, token bigint NOT NULL,
        is_stale boolean NOT NULL, stored_at timestamptz NOT NULL, PRIMARY KEY (run, number))""",
    # Logs: newest lines in chunks, older ones in the object store with search filters.
    "log_position": """(
        trial uuid PRIMARY KEY, tenant uuid NOT NULL, next bigint NOT NULL DEFAULT 1,
        first_unpacked bigint NOT NULL DEFAULT 1, unpacked_bytes bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70)""",
    "log_chunk": """(
        day date NOT NULL, tenant uuid NOT NULL, trial uuid NOT NULL, first bigint NOT NULL, lines int NOT NULL,
        run_number int NOT NULL, body bytea NOT NULL) PARTITION BY RANGE (day)""",
    "log_object": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, trial uuid NOT NULL, first bigint NOT NULL,
        lines bigint NOT NULL DEFAULT 0, state text NOT NULL DEFAULT 'writing', size_bytes bigint NOT NULL DEFAULT 0,
        text_bytes bigint NOT NULL DEFAULT 0, since_ms bigint, until_ms bigint, runs bigint[], ranks bigint[],
        levels text[], created_at timestamptz NOT NULL, batch_lines bigint, batch_offsets bigint[], filter_bits int, filter_slices int,
        ngram_filter bytea)""",
    # Media: packs in the object store, and the catalogue of their items.
    "media_pack": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, trial uuid NOT NULL, run uuid NOT NULL,
        number bigint, state text NOT NULL DEFAULT 'uploading', size_bytes bigint NOT NULL, sha256 text NOT NULL,
        created_at timestamptz NOT NULL, workspace text)""",
    "media": """(
        trial uuid NOT NULL, pack bigint NOT NULL, position int NOT NULL, tenant uuid NOT NULL, pack_id uuid NOT NULL,
        run uuid NOT NULL, kind text NOT NULL, "group" text NOT NULL, name text NOT NULL, step bigint NOT NULL,
        time_ms bigint NOT NULL, content_type text NOT NULL, "offset" bigint NOT NULL, size_bytes bigint NOT NULL,
        sha256 text NOT NULL, about jsonb NOT NULL, PRIMARY KEY (trial, pack, position))""",
    # Checkpoints, their files, and the stored contents of files. `shard_workers`: the workers that hold files, as listed by the gang's chief.
    "checkpoint": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, experiment uuid NOT NULL, trial uuid NOT NULL, run uuid NOT NULL,
        run_number int NOT NULL, token bigint NOT NULL, number int NOT NULL, step bigint NOT NULL,
        state text NOT NULL, version bigint NOT NULL, attempts int NOT NULL DEFAULT 0, files int NOT NULL DEFAULT 0,
        size_bytes bigint NOT NULL DEFAULT 0, pending_workers text[] NOT NULL DEFAULT '{}',
        metadata jsonb NOT NULL DEFAULT '{}', reason text, created_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL, shard_workers text[], upload_rounds int NOT NULL DEFAULT 0,
        is_fully_recorded boolean NOT NULL DEFAULT false, UNIQUE (run, number))""",
    "checkpoint_file": """(
        checkpoint uuid NOT NULL, path text NOT NULL, tenant uuid NOT NULL, worker text NOT NULL, key text NOT NULL,
        size_bytes bigint NOT NULL, sha256 text NOT NULL, PRIMARY KEY (checkpoint, path))""",
    "object": """(
        key text PRIMARY KEY, tenant uuid NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL,
        state text NOT NULL DEFAULT 'stored', unused_since timestamptz, verified_at timestamptz,
        verification_requested_at timestamptz, claimed_until timestamptz)""",
    # Code archives and other artifacts, and uploads that have not arrived.
    "artifact": """(
        tenant uuid NOT NULL, kind text NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL, key text NOT NULL,
        created_at timestamptz NOT NULL, last_requested_at timestamptz, unused_since timestamptz,
        PRIMARY KEY (tenant, kind, sha256))""",
    "artifact_upload": """(
        key text PRIMARY KEY, tenant uuid NOT NULL, requested_at timestamptz NOT NULL,
        is_deleting boolean NOT NULL DEFAULT false)""",
    # Models, their versions, and uses of versions: `kind` is inference, evaluation or similar, `reference` the consumer's id.
    "model": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, name text NOT NULL, key text NOT NULL, description text NOT NULL,
        metadata jsonb NOT NULL, by text NOT NULL, version bigint NOT NULL, versions int NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL, workspace text NOT NULL DEFAULT 'Uncategorized',
        notes text NOT NULL DEFAULT '', tags text[] NOT NULL DEFAULT '{}', approvals jsonb NOT NULL DEFAULT '{}',
        aliases jsonb NOT NULL DEFAULT '{}', changed_by text, deleted_at timestamptz, deleted_reason text)""",
    "model_version": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, model uuid NOT NULL, number int NOT NULL, checkpoint uuid NOT NULL,
        name text NOT NULL, comment text NOT NULL, metadata jsonb NOT NULL, by text NOT NULL, lineage jsonb NOT NULL,
        created_at timestamptz NOT NULL, version bigint NOT NULL DEFAULT 1, notes text NOT NULL DEFAULT '',
        tags text[] NOT NULL DEFAULT '{}', signature jsonb, stage text NOT NULL DEFAULT 'none', pending jsonb,
        stages jsonb NOT NULL DEFAULT '[]', changed_by text, deleted_at timestamptz, deleted_reason text,
        UNIQUE (model, number))""",
    "version_consumer": """(
        id uuid PRIMARY KEY, tenant uuid NOT NULL, version uuid NOT NULL, kind text NOT NULL, reference text NOT NULL,
        by text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', at timestamptz NOT NULL,
        UNIQUE (version, kind, reference))""",
    # Stored bytes and their limits, by tenant and workspace. A workspace counts each content once (`workspace_object`).
    "storage": """(
        tenant uuid PRIMARY KEY, used_bytes bigint NOT NULL DEFAULT 0, maximum_bytes bigint,
        version bigint NOT NULL DEFAULT 0)""",
    "workspace_storage": """(
        tenant uuid NOT NULL, workspace text NOT NULL, used_bytes bigint NOT NULL DEFAULT 0, maximum_bytes bigint,
        version bigint NOT NULL DEFAULT 0, PRIMARY KEY (tenant, workspace))""",
    "workspace_object": """(
        tenant uuid NOT NULL, workspace text NOT NULL, key text NOT NULL, size_bytes bigint NOT NULL,
        PRIMARY KEY (tenant, workspace, key))""",
    # Retention rules of tenants and workspaces.
    "retention": """(
        tenant uuid NOT NULL, workspace text NOT NULL, metric_detail_days int, metric_retention_days int,
        log_retention_days int, PRIMARY KEY (tenant, workspace))""",
}
SITE_TABLES = {
    # Workers and their states as the scheduler publishes them.
    "worker": "(worker text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL)",
    # Prefixes of deleted entities to which presigned URLs may still write.
    "pending_prefix_cleanup": "(prefix text PRIMARY KEY, due_at timestamptz NOT NULL)",
}
# Columns that change with every batch must not be indexed.
INDEXES = (
    "CREATE INDEX experiment_to_collect ON registry.experiment (final_at) WHERE is_final AND collected_at IS NULL",
    "CREATE INDEX experiment_by_datasets ON registry.experiment USING gin (datasets jsonb_path_ops)",
    "CREATE INDEX experiment_by_code ON registry.experiment (tenant, code_hash) WHERE code_hash IS NOT NULL",
    "CREATE INDEX trial_by_experiment ON registry.trial (experiment)",
    """CREATE INDEX trial_open_by_start_checkpoint ON registry.trial (start_checkpoint)
        WHERE start_checkpoint IS NOT NULL AND NOT is_final""",
    "CREATE INDEX trial_by_start_checkpoint ON registry.trial (start_checkpoint) WHERE start_checkpoint IS NOT NULL",
    "CREATE INDEX trial_by_code ON registry.trial (tenant, code_hash) WHERE code_hash IS NOT NULL",
    "CREATE INDEX run_by_trial ON registry.run (trial, number)",
    "CREATE INDEX run_to_settle ON registry.run (ended_at) WHERE ended_at IS NOT NULL AND NOT is_settled",
    "CREATE INDEX run_restarted ON registry.run (experiment) WHERE number > 1",
    "CREATE INDEX series_by_trial ON registry.series (trial)",
    'CREATE INDEX series_by_metric ON registry.series (experiment, "group", name)',
    "CREATE INDEX point_chunk_by_series ON registry.point_chunk (series, count)",
    "CREATE INDEX validation_by_trial ON registry.validation (trial, step)",
    "CREATE INDEX log_chunk_by_trial ON registry.log_chunk (trial, first)",
    # One attempt at a time per trial, and no line in two objects.
    "CREATE UNIQUE INDEX log_object_by_trial ON registry.log_object (trial, first) WHERE state <> 'deleting'",
    "CREATE INDEX log_object_unsettled ON registry.log_object (created_at) WHERE state <> 'stored'",
    "CREATE INDEX log_object_by_age ON registry.log_object (until_ms) WHERE state = 'stored'",
    "CREATE UNIQUE INDEX media_pack_by_trial ON registry.media_pack (trial, number) WHERE number IS NOT NULL",
    "CREATE INDEX media_pack_unsettled ON registry.media_pack (created_at) WHERE state <> 'stored'",
    "CREATE INDEX media_pack_by_age ON registry.media_pack (experiment, created_at) WHERE state = 'stored'",
    "CREATE INDEX media_by_kind ON registry.media (trial, kind, pack, position)",
    "CREATE INDEX media_by_name ON registry.media (trial, name, step)",
    "CREATE INDEX checkpoint_by_trial ON registry.checkpoint (trial, token, step)",
    "CREATE INDEX checkpoint_by_experiment ON registry.checkpoint (experiment)",
    "CREATE INDEX checkpoint_to_delete ON registry.checkpoint (changed_at) WHERE state = 'deleting'",
    "CREATE INDEX checkpoint_file_by_key ON registry.checkpoint_file (key)",
    "CREATE UNIQUE INDEX object_by_content ON registry.object (tenant, sha256, size_bytes) WHERE state = 'stored'",
    "CREATE INDEX object_unused ON registry.object (unused_since) WHERE unused_since IS NOT NULL",
    "CREATE INDEX object_to_verify ON registry.object (verified_at NULLS FIRST) WHERE state = 'stored'",
    """CREATE INDEX object_to_verify_on_request ON registry.object (verification_requested_at)
        WHERE verification_requested_at IS NOT NULL AND state = 'stored'""",
    "CREATE INDEX artifact_upload_by_age ON registry.artifact_upload (requested_at)",
    # The name of a deleted model can be reused.
    "CREATE UNIQUE INDEX model_by_key ON registry.model (tenant, workspace, key) WHERE deleted_at IS NULL",
    "CREATE INDEX model_version_by_checkpoint ON registry.model_version (checkpoint)",
)
# Chunks of points are compressed already. Filters stay uncompressed, so that a part of one can be read without the rest.
UNCOMPRESSED = {
    "point_chunk": ("body", "rolled_up"),
    "log_object": ("ngram_filter",),
}


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
    for name, uncompressed in UNCOMPRESSED.items():
        for column in uncompressed:
            op.execute(f"ALTER TABLE {SCHEMA}.{name} ALTER COLUMN {column} SET STORAGE EXTERNAL")
