"""Restrict budget events: a workspace's to callers who see its usage, the tenant's to callers who see all usage."""

from alembic import op

revision = "gateway_0021"
down_revision = "gateway_0020"
branch_labels = None
depends_on = None

_ALL = "coalesce(current_setting('muster.{}', true), '') = ''"
_EVERYTHING = " AND ".join(_ALL.format(kind) for kind in ("experiments", "models", "budgets"))
_SEEN = "EXISTS (SELECT FROM gateway.{0} AS above WHERE above.id = event.{1})"
_BUDGET = (
    f"{_ALL.format('budgets')} OR ARRAY[encode(convert_to(resource ->> 'workspace', 'UTF8'), 'hex')]"
    " && string_to_array(current_setting('muster.budgets', true), ',')"
)
_VISIBLE = (
    f"({_EVERYTHING}) OR CASE kind"
    f" WHEN 'budget' THEN {_BUDGET}"
    f" WHEN 'model' THEN {_SEEN.format('model', 'entity')}"
    f" WHEN 'version' THEN {_SEEN.format('model_version', 'entity')}"
    f" ELSE {_SEEN.format('experiment', 'experiment')} END"
)


def upgrade() -> None:
    op.execute("DROP POLICY within ON gateway.event")
    op.execute(
        f"CREATE POLICY within ON gateway.event AS RESTRICTIVE TO gateway_tenant USING ({_VISIBLE}) WITH CHECK ({_VISIBLE})"
    )


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
