"""Add webhooks and their deliveries."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0015"
down_revision = "gateway_0014"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.webhook (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, name text NOT NULL, workspace text, project text,
        origin text NOT NULL, url bytea NOT NULL, secret bytea NOT NULL, previous_secret bytea,
        previous_until timestamptz, form text NOT NULL, events text[] NOT NULL, labels text[] NOT NULL,
        enabled boolean NOT NULL, created_at timestamptz NOT NULL, by text NOT NULL)""",
    """CREATE UNIQUE INDEX webhook_name
        ON gateway.webhook (tenant, coalesce(workspace, ''), coalesce(project, ''), name)""",
    """CREATE TABLE gateway.delivery (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, webhook uuid NOT NULL, type text NOT NULL, event json NOT NULL,
        position bigint NOT NULL, is_test boolean NOT NULL, state text NOT NULL DEFAULT 'waiting',
        attempts integer NOT NULL DEFAULT 0, attempts_before integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL, began_at timestamptz NOT NULL, due_at timestamptz NOT NULL,
        ended_at timestamptz, status integer, error text)""",
    "CREATE INDEX delivery_due ON gateway.delivery (webhook, due_at) WHERE state = 'waiting'",
    "CREATE INDEX delivery_dead ON gateway.delivery (webhook) WHERE state = 'dead'",
    "CREATE INDEX delivery_listed ON gateway.delivery (webhook, created_at, id)",
    "CREATE INDEX delivery_age ON gateway.delivery (created_at)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("webhook", "delivery"):
        protect(op, "gateway", table)
    workspace = "encode(convert_to(workspace, 'UTF8'), 'hex')"
    project = f"{workspace} || '/' || encode(convert_to(project, 'UTF8'), 'hex')"
    everywhere = "coalesce(current_setting('muster.webhooks', true), '') = ''"
    listed = "string_to_array(current_setting('muster.webhooks', true), ',')"
    _narrow("webhook", f"{everywhere} OR ARRAY[{workspace}, {project}] && {listed}")
    # Deliveries of invisible webhooks are invisible: the inner SELECT is subject to the policies of its own table.
    seen = "EXISTS (SELECT FROM gateway.webhook AS above WHERE above.id = delivery.webhook)"
    _narrow("delivery", f"{everywhere} OR {seen}")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")


def _narrow(table: str, visible: str) -> None:
    op.execute(
        f"CREATE POLICY within ON gateway.{table} AS RESTRICTIVE TO gateway_tenant USING ({visible}) WITH CHECK ({visible})"
    )
