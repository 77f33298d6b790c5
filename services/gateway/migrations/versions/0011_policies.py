"""Add policies, which restrict configs, and templates, which configs are based on."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0011"
down_revision = "gateway_0010"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.policy (
        tenant uuid NOT NULL, workspace text NOT NULL, invariant_config json NOT NULL, max_slots integer,
        priority_limit integer, changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, workspace))""",
    """CREATE TABLE gateway.template (
        tenant uuid NOT NULL, name text NOT NULL, workspace text NOT NULL, description text NOT NULL,
        config json NOT NULL, changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, name))""",
)
# Visible to callers who see the workspace or any of its projects.
SEEN = """workspace = '' OR coalesce(current_setting('muster.templates', true), '') = '' OR EXISTS (
    SELECT FROM unnest(string_to_array(current_setting('muster.templates', true), ',')) AS place
    WHERE split_part(place, '/', 1) = encode(convert_to(workspace, 'UTF8'), 'hex'))"""


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("policy", "template"):
        protect(op, "gateway", table)
    op.execute(
        f"CREATE POLICY within ON gateway.template AS RESTRICTIVE TO gateway_tenant USING ({SEEN}) WITH CHECK ({SEEN})"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
