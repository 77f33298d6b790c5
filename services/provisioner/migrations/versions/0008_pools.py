"""Pools as data, the largest waiting request, and paused offers of providers."""

from alembic import op

from shared.database.engine import open_to_system

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

COLUMNS = (
    "largest int NOT NULL DEFAULT 0",
    # None: the process's settings define the pool.
    "definition jsonb",
    "is_closing boolean NOT NULL DEFAULT false",
)
# An empty string stands for all offers of its provider.
HOLD = """(
    provider text NOT NULL, kind text NOT NULL, zone text NOT NULL, purchase text NOT NULL, cause text NOT NULL,
    reason text NOT NULL, failures int NOT NULL, since timestamptz NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (provider, kind, zone, purchase))"""


def upgrade() -> None:
    for column in COLUMNS:
        op.execute(f"ALTER TABLE provisioner.provider ADD COLUMN {column}")
    op.execute(f"CREATE TABLE provisioner.hold {HOLD}")
    open_to_system(op, "provisioner", "hold")
