"""Who sees everything is the usual case, and the planner is told so: of `a OR b` about settings it took one row in two hundred to be visible, and so read
all of a tenant's experiments for each page of fifty (decision 0277)."""

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
    """The same rows as before. A CASE is taken to hold for every second row."""
    setting = f"current_setting('muster.{kind}', true)"
    listed = f"ARRAY[{', '.join(places)}] && string_to_array({setting}, ',')"
    visible = f"CASE WHEN coalesce({setting}, '') = '' THEN true ELSE {listed} END"
    op.execute(f"ALTER POLICY within ON gateway.{table} USING ({visible}) WITH CHECK ({visible})")
