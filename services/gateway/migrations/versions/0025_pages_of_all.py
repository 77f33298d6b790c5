"""Help the planner to see that most callers see all rows. For `a OR b` on settings it assumed that 1 of 200 rows is visible, and read all
experiments of a tenant for each page of 50 (decision 0277)."""

from alembic import op

revision = "gateway_0025"
down_revision = "gateway_0024"
branch_labels = None
depends_on = None

_WORKSPACE = "encode(convert_to(workspace, 'UTF8'), 'hex')"
_PROJECT = f"{_WORKSPACE} || '/' || encode(convert_to(project, 'UTF8'), 'hex')"


def upgrade() -> None:
    _narrow("experiment", "experiments", _WORKSPACE, _PROJECT)
    _narrow("model", "models", _WORKSPACE)


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")


def _narrow(table: str, kind: str, *places: str) -> None:
    """Rewrite the policy with the same meaning. The planner assumes that a CASE is true for half of the rows."""
    setting = f"current_setting('muster.{kind}', true)"
    listed = f"ARRAY[{', '.join(places)}] && string_to_array({setting}, ',')"
    visible = f"CASE WHEN coalesce({setting}, '') = '' THEN true ELSE {listed} END"
    op.execute(f"ALTER POLICY within ON gateway.{table} USING ({visible}) WITH CHECK ({visible})")
