"""Add users, service accounts, groups and role bindings, and row-level security that depends on them."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0010"
down_revision = "gateway_0009"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.account (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, kind text NOT NULL, display_name text NOT NULL,
        created_at timestamptz NOT NULL, disabled_at timestamptz, UNIQUE (tenant, name))""",
    """CREATE TABLE gateway.team (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, description text NOT NULL,
        created_at timestamptz NOT NULL, UNIQUE (tenant, name))""",
    """CREATE TABLE gateway.membership (
        tenant uuid NOT NULL, team uuid NOT NULL, account uuid NOT NULL, PRIMARY KEY (team, account))""",
    "CREATE INDEX membership_account ON gateway.membership (account)",
    """CREATE TABLE gateway.role (
        tenant uuid NOT NULL, name text NOT NULL, description text NOT NULL, permissions text[] NOT NULL,
        created_at timestamptz NOT NULL, PRIMARY KEY (tenant, name))""",
    """CREATE TABLE gateway.binding (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, role text NOT NULL, account uuid, team uuid, workspace text,
        project text, created_at timestamptz NOT NULL, by text NOT NULL)""",
    "CREATE INDEX binding_account ON gateway.binding (account)",
    "CREATE INDEX binding_team ON gateway.binding (team)",
    "ALTER TABLE gateway.token ADD COLUMN account uuid, ADD COLUMN scope text[]",
)
TENANT_TABLES = ("account", "team", "membership", "role", "binding")


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in TENANT_TABLES:
        protect(op, "gateway", table)
    workspace = "encode(convert_to(workspace, 'UTF8'), 'hex')"
    project = f"{workspace} || '/' || encode(convert_to(project, 'UTF8'), 'hex')"
    _narrow("experiment", _among("experiments", workspace, project))
    _narrow("binding", _among("bindings", workspace, project))
    _narrow("limits", f"workspace = '' OR {_among('limits', workspace)}")
    _narrow("model", _among("models", workspace))
    # Children of invisible rows are invisible: the inner SELECT is subject to the policies of its own table.
    _narrow("trial", f"{_all('experiments')} OR {_seen('experiment', 'trial.experiment')}")
    _narrow("run", f"{_all('experiments')} OR {_seen('trial', 'run.trial')}")
    _narrow("model_version", f"{_all('models')} OR {_seen('model', 'model_version.model')}")
    _narrow(
        "event",
        f"({_all('experiments')} AND {_all('models')}) OR CASE kind"
        f" WHEN 'model' THEN {_seen('model', 'event.entity')}"
        f" WHEN 'version' THEN {_seen('model_version', 'event.entity')}"
        f" ELSE {_seen('experiment', 'event.experiment')} END",
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")


def _narrow(table: str, visible: str) -> None:
    """Add a restrictive policy besides the one by tenant: the transaction sees only rows that its settings allow."""
    op.execute(
        f"CREATE POLICY within ON gateway.{table} AS RESTRICTIVE TO gateway_tenant USING ({visible}) WITH CHECK ({visible})"
    )


def _all(kind: str) -> str:
    """Return the condition that the setting is empty, so that all rows are visible."""
    return f"coalesce(current_setting('muster.{kind}', true), '') = ''"


def _among(kind: str, *places: str) -> str:
    """Return the condition that the setting is empty or lists one of the places, encoded as in `Grants.scopes_text`."""
    listed = f"string_to_array(current_setting('muster.{kind}', true), ',')"
    return f"{_all(kind)} OR ARRAY[{', '.join(places)}] && {listed}"


def _seen(table: str, reference: str) -> str:
    return f"EXISTS (SELECT FROM gateway.{table} AS above WHERE above.id = {reference})"
