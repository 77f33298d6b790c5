"""Create the table of user secrets."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0003"
down_revision = "gateway_0002"
branch_labels = None
depends_on = None
compatible_from = "gateway_0001"


def upgrade() -> None:
    op.execute(
        """CREATE TABLE gateway.user_secret (
            tenant uuid NOT NULL, workspace text NOT NULL, name text NOT NULL, key_id text NOT NULL,
            wrapped_key bytea NOT NULL, sealed_value bytea NOT NULL, created_at timestamptz NOT NULL,
            changed_at timestamptz NOT NULL, by text NOT NULL, PRIMARY KEY (tenant, workspace, name))"""
    )
    protect(op, "gateway", "user_secret")
    listed = (
        "ARRAY[encode(convert_to(workspace, 'UTF8'), 'hex')]"
        " && string_to_array(current_setting('muster.secrets', true), ',')"
    )
    visible = f"coalesce(current_setting('muster.secrets', true), '') = '' OR {listed}"
    op.execute(
        "CREATE POLICY role_scope ON gateway.user_secret AS RESTRICTIVE TO gateway_tenant"
        f" USING ({visible}) WITH CHECK ({visible})"
    )
