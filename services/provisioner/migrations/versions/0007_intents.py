"""The launch of a machine, its offer, and the provider's id of it."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COLUMNS = (
    "intent uuid",
    "machine_kind text NOT NULL DEFAULT 'local'",
    "zone text",
    "purchase text NOT NULL DEFAULT 'on_demand'",
    "external_id text",
    "over_at timestamptz",
)


def upgrade() -> None:
    for column in COLUMNS:
        op.execute(f"ALTER TABLE provisioner.instance ADD COLUMN {column}")
    # Each earlier order that was not launched becomes a launch of one machine.
    op.execute("UPDATE provisioner.instance SET intent = id WHERE state = 'wanted'")
    op.execute("CREATE INDEX instance_intent ON provisioner.instance (intent) WHERE intent IS NOT NULL")
