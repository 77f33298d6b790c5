"""Create the gateway's tables, and the row-level security that depends on a caller's roles."""

from alembic import op

from shared.database.engine import deletion_tables, delivery_tables, open_to_system, protect

revision = "gateway_0001"
down_revision = None
branch_labels = None
depends_on = None
compatible_from = "gateway_0001"

SCHEMA = "gateway"

SITE_TABLES = {
    # Tenants, and instances of the provisioner.
    "tenant": """(
        id uuid PRIMARY KEY, name text NOT NULL UNIQUE, created_at timestamptz NOT NULL,
        deleting boolean NOT NULL DEFAULT false)""",
    "instance": "(id uuid PRIMARY KEY, version bigint NOT NULL, last_event json NOT NULL)",
}
TENANT_TABLES = {
    # Counters of experiments and events. `last_expired_position`: the feed begins after this event.
    "counter": """(
        tenant uuid PRIMARY KEY, experiments integer NOT NULL DEFAULT 0, events bigint NOT NULL DEFAULT 0,
        last_expired_position bigint NOT NULL DEFAULT 0)""",
    # Experiments as submitted, and projections of the searcher's and the scheduler's events (`queue_policy`: priority, weight,
    # limits and pool; `search_changes`: edited limits of the search). `last_event`, here and below: the newest event of the owner.
    "experiment": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, number integer NOT NULL, name text NOT NULL, description text,
        workspace text NOT NULL, project text NOT NULL, labels text[] NOT NULL DEFAULT '{}', owner text NOT NULL,
        searcher text NOT NULL, metric text, smaller_is_better boolean NOT NULL, config json NOT NULL,
        config_yaml text, code_sha256 text, forked_from uuid, trace_id text, warnings text[] NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL, version bigint NOT NULL DEFAULT 0, state text NOT NULL DEFAULT 'submitted',
        reason text, progress double precision NOT NULL DEFAULT 0, best json, trials json NOT NULL DEFAULT '{}',
        priority integer, archived boolean NOT NULL DEFAULT false, final boolean NOT NULL DEFAULT false,
        started_at timestamptz, ended_at timestamptz, queue_policy json,
        queue_policy_version bigint NOT NULL DEFAULT 0, search_changes json, budget json,
        deleting boolean NOT NULL DEFAULT false, killed boolean NOT NULL DEFAULT false)""",
    # Search terms of experiments: labels and trigrams of names (decision 0154).
    "experiment_search_term": """(
        tenant uuid NOT NULL, term text COLLATE "C" NOT NULL, number integer NOT NULL,
        PRIMARY KEY (tenant, term, number))""",
    # Projections of trials, runs, models and their versions.
    "trial": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, experiment uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, state text NOT NULL, best_value double precision, last_event json NOT NULL)""",
    "run": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, trial uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, state text NOT NULL, last_event json NOT NULL)""",
    "model": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, version bigint NOT NULL,
        last_event json NOT NULL, workspace text NOT NULL DEFAULT 'Uncategorized', tags text[] NOT NULL DEFAULT '{}',
        is_deleted boolean NOT NULL DEFAULT false)""",
    "model_version": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, model uuid NOT NULL, number integer NOT NULL,
        version bigint NOT NULL, last_event json NOT NULL, is_deleted boolean NOT NULL DEFAULT false)""",
    # Code archives. `files`: paths, for checking entrypoints (decision 0261).
    "code": """(
        tenant uuid NOT NULL, sha256 text NOT NULL, size_bytes bigint NOT NULL, created_at timestamptz NOT NULL,
        files text[], PRIMARY KEY (tenant, sha256))""",
    # Refused operations, idempotency keys, and operations that take longer than their request waits.
    "operation_refusal": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, created_at timestamptz NOT NULL,
        code text NOT NULL, message text NOT NULL, hint text)""",
    "idempotency": """(
        tenant uuid NOT NULL, operation text NOT NULL, key text NOT NULL, fingerprint bytea NOT NULL,
        entity uuid NOT NULL, response json, created_at timestamptz NOT NULL, position bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant, operation, key))""",
    "long_operation": """(
        tenant uuid NOT NULL, id uuid NOT NULL, operation text NOT NULL, requester uuid NOT NULL, entity uuid,
        version bigint NOT NULL, position bigint NOT NULL, created_at timestamptz NOT NULL, desired_state json,
        PRIMARY KEY (requester, id))""",
    # The feed of events, and deletions.
    "event": """(
        tenant uuid NOT NULL, position bigint NOT NULL, at timestamptz NOT NULL, kind text NOT NULL,
        change text NOT NULL, entity uuid NOT NULL, experiment uuid, version bigint NOT NULL,
        resource json NOT NULL, PRIMARY KEY (tenant, position))""",
    "deletion": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, scope text NOT NULL, target uuid NOT NULL, name text NOT NULL,
        is_forced boolean NOT NULL, by text NOT NULL, stage text NOT NULL, pending_owners text[] NOT NULL, parent uuid,
        created_at timestamptz NOT NULL, changed_at timestamptz NOT NULL, ended_at timestamptz,
        code text, message text, hint text)""",
    # Users, service accounts, groups, and their roles.
    "account": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, kind text NOT NULL, display_name text NOT NULL,
        created_at timestamptz NOT NULL, disabled_at timestamptz, UNIQUE (tenant, name))""",
    "account_group": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, description text NOT NULL,
        created_at timestamptz NOT NULL, UNIQUE (tenant, name))""",
    "membership": """(
        tenant uuid NOT NULL, account_group uuid NOT NULL, account uuid NOT NULL, PRIMARY KEY (account_group, account))""",
    "role": """(
        tenant uuid NOT NULL, name text NOT NULL, description text NOT NULL, permissions text[] NOT NULL,
        created_at timestamptz NOT NULL, PRIMARY KEY (tenant, name))""",
    "role_binding": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, role text NOT NULL, account uuid, account_group uuid,
        workspace text, project text, created_at timestamptz NOT NULL, by text NOT NULL)""",
    # Sign-in: tokens, passwords, identities at providers, browser sessions of an account or a token (decision 0197), one-time links.
    "token": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, role text NOT NULL,
        hash bytea NOT NULL UNIQUE, created_at timestamptz NOT NULL, expires_at timestamptz, revoked_at timestamptz,
        account uuid, scope text[])""",
    "password": """(
        tenant uuid NOT NULL, account uuid PRIMARY KEY, hash text NOT NULL, changed_at timestamptz NOT NULL)""",
    "identity": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, account uuid NOT NULL, issuer text NOT NULL, subject text NOT NULL,
        created_at timestamptz NOT NULL, UNIQUE (tenant, issuer, subject))""",
    "session": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, account uuid, hash bytea NOT NULL UNIQUE, via text NOT NULL,
        address text NOT NULL, created_at timestamptz NOT NULL, used_at timestamptz NOT NULL, idle_s integer NOT NULL,
        expires_at timestamptz NOT NULL, ended_at timestamptz,
        token uuid REFERENCES gateway.token (id) ON DELETE CASCADE,
        CHECK (account IS NOT NULL OR token IS NOT NULL))""",
    "sign_in_link": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY,
        token uuid NOT NULL REFERENCES gateway.token (id) ON DELETE CASCADE, hash bytea NOT NULL UNIQUE,
        created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, used_at timestamptz)""",
    # Limits: slots per pool, stored bytes, open experiments and requests per second. An empty workspace means the tenant as a whole.
    "slot_limit": """(
        tenant uuid NOT NULL, workspace text NOT NULL, pool text NOT NULL, guaranteed integer NOT NULL,
        maximum integer, weight double precision NOT NULL, version bigint NOT NULL,
        PRIMARY KEY (tenant, workspace, pool))""",
    "storage_limit": "(tenant uuid PRIMARY KEY, maximum_bytes bigint, version bigint NOT NULL)",
    "quota": """(
        tenant uuid NOT NULL, workspace text NOT NULL, max_experiments integer, requests_per_s double precision,
        changed_at timestamptz NOT NULL, by text NOT NULL, max_stored_bytes bigint,
        version bigint NOT NULL DEFAULT 0, PRIMARY KEY (tenant, workspace))""",
    # Policies, which restrict configs, and templates, which configs are based on.
    "policy": """(
        tenant uuid NOT NULL, workspace text NOT NULL, invariant_config json NOT NULL, max_slots integer,
        priority_limit integer, changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, workspace))""",
    "template": """(
        tenant uuid NOT NULL, name text NOT NULL, workspace text NOT NULL, description text NOT NULL,
        config json NOT NULL, changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, name))""",
    # Webhooks and their deliveries.
    "webhook": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, workspace text, project text,
        origin text NOT NULL, url bytea NOT NULL, secret bytea NOT NULL, previous_secret bytea,
        previous_secret_until timestamptz, form text NOT NULL, events text[] NOT NULL, labels text[] NOT NULL,
        enabled boolean NOT NULL, created_at timestamptz NOT NULL, by text NOT NULL)""",
    "webhook_delivery": """(
        tenant uuid NOT NULL, id uuid PRIMARY KEY, webhook uuid NOT NULL, type text NOT NULL, event json NOT NULL,
        position bigint NOT NULL, is_test boolean NOT NULL, state text NOT NULL DEFAULT 'waiting',
        attempts integer NOT NULL DEFAULT 0, previous_attempts integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL, series_started_at timestamptz NOT NULL, due_at timestamptz NOT NULL,
        ended_at timestamptz, status integer, error text)""",
    # Saved views of users (decision 0210).
    "saved_view": """(
        tenant uuid NOT NULL, owner uuid NOT NULL, name text NOT NULL, address text NOT NULL,
        saved_at timestamptz NOT NULL, PRIMARY KEY (tenant, owner, name))""",
}
INDEXES = (
    "CREATE UNIQUE INDEX experiment_number ON gateway.experiment (tenant, number)",
    "CREATE INDEX experiment_state ON gateway.experiment (tenant, archived, state, number DESC)",
    "CREATE INDEX experiment_open ON gateway.experiment (tenant, workspace) WHERE NOT final",
    "CREATE UNIQUE INDEX trial_number ON gateway.trial (experiment, number)",
    "CREATE UNIQUE INDEX run_number ON gateway.run (trial, number)",
    "CREATE INDEX model_name ON gateway.model (tenant, name)",
    "CREATE INDEX model_version_number ON gateway.model_version (model, number)",
    "CREATE INDEX operation_refusal_age ON gateway.operation_refusal (created_at)",
    "CREATE INDEX idempotency_age ON gateway.idempotency (created_at)",
    "CREATE INDEX event_age ON gateway.event (at)",
    "CREATE INDEX deletion_open ON gateway.deletion (changed_at) WHERE ended_at IS NULL",
    "CREATE UNIQUE INDEX deletion_target ON gateway.deletion (target) WHERE ended_at IS NULL",
    "CREATE INDEX deletion_parent ON gateway.deletion (parent) WHERE parent IS NOT NULL",
    # `Admin` next to `admin` would let one user pass for another.
    "CREATE UNIQUE INDEX tenant_canonical_name ON gateway.tenant (lower(normalize(name, NFKC)))",
    "CREATE UNIQUE INDEX account_canonical_name ON gateway.account (tenant, lower(normalize(name, NFKC)))",
    "CREATE UNIQUE INDEX account_group_canonical_name ON gateway.account_group (tenant, lower(normalize(name, NFKC)))",
    "CREATE INDEX membership_account ON gateway.membership (account)",
    "CREATE INDEX role_binding_account ON gateway.role_binding (account)",
    "CREATE INDEX role_binding_group ON gateway.role_binding (account_group)",
    "CREATE INDEX token_tenant ON gateway.token (tenant, created_at)",
    "CREATE INDEX identity_account ON gateway.identity (account)",
    "CREATE INDEX session_account ON gateway.session (account)",
    "CREATE INDEX session_end ON gateway.session (expires_at)",
    "CREATE INDEX sign_in_link_end ON gateway.sign_in_link (expires_at)",
    """CREATE UNIQUE INDEX webhook_name
        ON gateway.webhook (tenant, coalesce(workspace, ''), coalesce(project, ''), name)""",
    "CREATE INDEX webhook_delivery_due ON gateway.webhook_delivery (webhook, due_at) WHERE state = 'waiting'",
    "CREATE INDEX webhook_delivery_dead ON gateway.webhook_delivery (webhook) WHERE state = 'dead'",
    "CREATE INDEX webhook_delivery_listed ON gateway.webhook_delivery (webhook, created_at, id)",
    "CREATE INDEX webhook_delivery_age ON gateway.webhook_delivery (created_at)",
)
# Search terms follow from name and labels of an experiment.
SEARCH_TERMS = (
    # A term starts at every character; the last two are shorter. So every substring of a name is the prefix of a term, or starts with one.
    """CREATE FUNCTION gateway.search_terms(name text, labels text[]) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
        SELECT '=' || label FROM unnest(labels) AS label
        UNION
        SELECT '~' || substr(lower(name), place, 3) FROM generate_series(1, length(lower(name))) AS place
    $$""",
    """CREATE FUNCTION gateway.update_search_terms() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM gateway.experiment_search_term AS existing USING gateway.search_terms(OLD.name, OLD.labels) AS former(term)
                WHERE existing.tenant = OLD.tenant AND existing.number = OLD.number AND existing.term = former.term;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO gateway.experiment_search_term (tenant, term, number)
                SELECT NEW.tenant, current.term, NEW.number FROM gateway.search_terms(NEW.name, NEW.labels) AS current(term);
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER update_search_terms AFTER INSERT OR DELETE OR UPDATE OF name, labels ON gateway.experiment
        FOR EACH ROW EXECUTE FUNCTION gateway.update_search_terms()""",
)
# The audit log: written with each change, sealed into a chain, append-only for all roles that services use.
AUDIT = (
    """CREATE TABLE gateway.audit_unsealed (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant uuid NOT NULL, record json NOT NULL)""",
    """CREATE TABLE gateway.audit (
        tenant uuid NOT NULL, sequence bigint NOT NULL, record json NOT NULL, hash bytea NOT NULL,
        sealed_at timestamptz NOT NULL,
        at text COLLATE "C" GENERATED ALWAYS AS (record ->> 'at') STORED,
        actor text GENERATED ALWAYS AS (record ->> 'actor') STORED,
        operation text GENERATED ALWAYS AS (record ->> 'operation') STORED,
        entity text GENERATED ALWAYS AS (record ->> 'entity') STORED,
        outcome text GENERATED ALWAYS AS (record ->> 'outcome') STORED,
        PRIMARY KEY (tenant, sequence))""",
    "CREATE INDEX audit_at ON gateway.audit (tenant, at)",
    "CREATE INDEX audit_actor ON gateway.audit (tenant, actor, sequence)",
    "CREATE INDEX audit_entity ON gateway.audit (tenant, entity, sequence)",
    "CREATE INDEX audit_denied ON gateway.audit (tenant, sequence) WHERE outcome = 'denied'",
    # The trigger also stops roles with more grants than a service; only the owner of the table can drop it first.
    """CREATE FUNCTION gateway.reject_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
    """CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON gateway.audit
        FOR EACH STATEMENT EXECUTE FUNCTION gateway.reject_audit_change()""",
)
# All transactions insert unsealed records; only the sealer reads and deletes them.
AUDIT_GRANTS = {
    "audit_unsealed": {"gateway_tenant": "INSERT", "gateway_system": "SELECT, INSERT, DELETE"},
    "audit": {"gateway_tenant": "SELECT", "gateway_system": "SELECT, INSERT"},
}


def upgrade() -> None:
    delivery_tables(op, SCHEMA)
    deletion_tables(op, SCHEMA)
    for name, columns in SITE_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        open_to_system(op, SCHEMA, name)
    for name, columns in TENANT_TABLES.items():
        op.execute(f"CREATE TABLE {SCHEMA}.{name} {columns}")
        protect(op, SCHEMA, name)
    for statement in (*INDEXES, *SEARCH_TERMS, *AUDIT):
        op.execute(statement)
    _protect_audit()
    _restrict_to_roles()


def _protect_audit() -> None:
    """Force row-level security as `protect` does, with fewer grants."""
    mine = "tenant = nullif(current_setting('muster.tenant', true), '')::uuid"
    for table, grants in AUDIT_GRANTS.items():
        name = f"{SCHEMA}.{table}"
        op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant_isolation ON {name} TO gateway_tenant USING ({mine}) WITH CHECK ({mine})"
        )
        op.execute(f"CREATE POLICY system_access ON {name} TO gateway_system USING (true) WITH CHECK (true)")
        for role, privileges in grants.items():
            op.execute(f"GRANT {privileges} ON {name} TO {role}")


def _restrict_to_roles() -> None:
    """Add restrictive policies: a transaction sees only rows that its settings, which follow from the caller's roles, allow."""
    workspace = "encode(convert_to(workspace, 'UTF8'), 'hex')"
    project = f"{workspace} || '/' || encode(convert_to(project, 'UTF8'), 'hex')"
    # Most callers see all rows. The planner assumes that a CASE is true for half of the rows, and `a OR b` for 1 of 200 (decision 0277).
    for table, kind, places in (
        ("experiment", "experiments", (workspace, project)),
        ("model", "models", (workspace,)),
    ):
        _restrict(table, f"CASE WHEN {_all(kind)} THEN true ELSE {_listed(kind, *places)} END")
    _restrict("role_binding", f"{_all('bindings')} OR {_listed('bindings', workspace, project)}")
    _restrict("slot_limit", f"workspace = '' OR {_all('limits')} OR {_listed('limits', workspace)}")
    _restrict("webhook", f"{_all('webhooks')} OR {_listed('webhooks', workspace, project)}")
    # Templates are visible to callers who see the workspace or any of its projects.
    place = "unnest(string_to_array(current_setting('muster.templates', true), ',')) AS place"
    seen = f"EXISTS (SELECT FROM {place} WHERE split_part(place, '/', 1) = {workspace})"
    _restrict("template", f"workspace = '' OR {_all('templates')} OR {seen}")
    # Children of invisible rows are invisible: the inner SELECT is subject to the policies of its own table.
    _restrict("trial", f"{_all('experiments')} OR {_visible('experiment', 'trial.experiment')}")
    _restrict("run", f"{_all('experiments')} OR {_visible('trial', 'run.trial')}")
    _restrict("model_version", f"{_all('models')} OR {_visible('model', 'model_version.model')}")
    _restrict("webhook_delivery", f"{_all('webhooks')} OR {_visible('webhook', 'webhook_delivery.webhook')}")
    everything = " AND ".join(_all(kind) for kind in ("experiments", "models", "budgets"))
    budget = _listed("budgets", "encode(convert_to(resource ->> 'workspace', 'UTF8'), 'hex')")
    _restrict(
        "event",
        f"({everything}) OR CASE kind"
        f" WHEN 'budget' THEN {_all('budgets')} OR {budget}"
        f" WHEN 'model' THEN {_visible('model', 'event.entity')}"
        f" WHEN 'version' THEN {_visible('model_version', 'event.entity')}"
        f" ELSE {_visible('experiment', 'event.experiment')} END",
    )


def _restrict(table: str, visible: str) -> None:
    op.execute(
        f"CREATE POLICY role_scope ON gateway.{table} AS RESTRICTIVE TO gateway_tenant USING ({visible}) WITH CHECK ({visible})"
    )


def _all(kind: str) -> str:
    """Return the condition that the setting is empty, so that all rows are visible."""
    return f"coalesce(current_setting('muster.{kind}', true), '') = ''"


def _listed(kind: str, *places: str) -> str:
    """Return the condition that the setting lists one of the places, encoded as in `Grants.scopes_text`."""
    return f"ARRAY[{', '.join(places)}] && string_to_array(current_setting('muster.{kind}', true), ',')"


def _visible(table: str, reference: str) -> str:
    return f"EXISTS (SELECT FROM gateway.{table} AS parent WHERE parent.id = {reference})"
