"""Reservations of slots for a time window. An empty workspace means the tenant as a whole."""

from alembic import op

from shared.database.engine import open_to_system

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE scheduler.reservation (reservation uuid PRIMARY KEY, pool text NOT NULL, tenant uuid NOT NULL,"
        " workspace text NOT NULL DEFAULT '', slots int NOT NULL CHECK (slots > 0), begins_at timestamptz NOT NULL,"
        " ends_at timestamptz NOT NULL CHECK (ends_at > begins_at))"
    )
    open_to_system(op, "scheduler", "reservation")
