"""Create the first tables of the gateway."""

from alembic import op

from shared.database.engine import delivery_tables, open_to_system, protect

revision = "gateway_0001"
down_revision = None
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.tenant (
        id uuid PRIMARY KEY, name text NOT NULL UNIQUE, created_at timestamptz NOT NULL)""",
    """CREATE TABLE gateway.instance (
        id uuid PRIMARY KEY, version bigint NOT NULL, changed json NOT NULL)""",
    """CREATE TABLE gateway.counter (
        tenant uuid PRIMARY KEY, experiments integer NOT NULL DEFAULT 0, events bigint NOT NULL DEFAULT 0)""",
    """CREATE TABLE gateway.token (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, role text NOT NULL,
        hash bytea NOT NULL UNIQUE, created_at timestamptz NOT NULL, expires_at timestamptz, revoked_at timestamptz)""",
    "CREATE INDEX token_tenant ON gateway.token (tenant, created_at)",
    """CREATE TABLE gateway.experiment (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, number integer NOT NULL, name text NOT NULL, description text,
        workspace text NOT NULL, project text NOT NULL, labels text[] NOT NULL DEFAULT '{}', owner text NOT NULL,
        searcher text NOT NULL, metric text, smaller_is_better boolean NOT NULL, config json NOT NULL,
        config_yaml text, code_sha256 text, forked_from uuid, trace_id text, warnings text[] NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL,
        version bigint NOT NULL DEFAULT 0, state text NOT NULL DEFAULT 'submitted', reason text,
        progress double precision NOT NULL DEFAULT 0, best json, trials json NOT NULL DEFAULT '{}',
        priority integer, archived boolean NOT NULL DEFAULT false, final boolean NOT NULL DEFAULT false,
        started_at timestamptz, ended_at timestamptz)""",
    "CREATE UNIQUE INDEX experiment_number ON gateway.experiment (tenant, number)",
    "CREATE INDEX experiment_state ON gateway.experiment (tenant, archived, state, number DESC)",
    """CREATE TABLE gateway.trial (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, experiment uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, state text NOT NULL, best_value double precision, changed json NOT NULL)""",
    "CREATE UNIQUE INDEX trial_number ON gateway.trial (experiment, number)",
    """CREATE TABLE gateway.run (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, trial uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, state text NOT NULL, changed json NOT NULL)""",
    "CREATE UNIQUE INDEX run_number ON gateway.run (trial, number)",
    """CREATE TABLE gateway.model (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, version bigint NOT NULL,
        changed json NOT NULL)""",
    "CREATE INDEX model_name ON gateway.model (tenant, name)",
    """CREATE TABLE gateway.model_version (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, model uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, changed json NOT NULL)""",
    "CREATE INDEX model_version_number ON gateway.model_version (model, number)",
    """CREATE TABLE gateway.code (
        tenant uuid NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL, created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, sha256))""",
    """CREATE TABLE gateway.operation (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, created_at timestamptz NOT NULL,
        code text NOT NULL, message text NOT NULL, hint text)""",
    "CREATE INDEX operation_age ON gateway.operation (created_at)",
    """CREATE TABLE gateway.idempotency (
        tenant uuid NOT NULL, operation text NOT NULL, key text NOT NULL, fingerprint bytea NOT NULL,
        entity uuid NOT NULL, response json, created_at timestamptz NOT NULL, PRIMARY KEY (tenant, operation, key))""",
    "CREATE INDEX idempotency_age ON gateway.idempotency (created_at)",
    """CREATE TABLE gateway.event (
        tenant uuid NOT NULL, position bigint NOT NULL, at timestamptz NOT NULL, kind text NOT NULL,
        change text NOT NULL, entity uuid NOT NULL, experiment uuid, version bigint NOT NULL,
        resource json NOT NULL, PRIMARY KEY (tenant, position))""",
    "CREATE INDEX event_age ON gateway.event (at)",
)
TENANT_TABLES = (
    "counter", "token", "experiment", "trial", "run", "model", "model_version", "code", "operation",
    "idempotency", "event",
)  # fmt: skip
SYSTEM_TABLES = ("tenant", "instance")


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in TENANT_TABLES:
        protect(op, "gateway", table)
    for table in SYSTEM_TABLES:
        open_to_system(op, "gateway", table)
    delivery_tables(op, "gateway")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
