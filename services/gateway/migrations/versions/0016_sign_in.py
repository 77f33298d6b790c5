"""Add sessions, passwords, and identities at providers."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0016"
down_revision = "gateway_0015"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.session (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, account uuid NOT NULL, hash bytea NOT NULL UNIQUE, via text NOT NULL,
        address text NOT NULL, created_at timestamptz NOT NULL, used_at timestamptz NOT NULL, idle_s integer NOT NULL,
        expires_at timestamptz NOT NULL, ended_at timestamptz)""",
    "CREATE INDEX session_account ON gateway.session (account)",
    "CREATE INDEX session_end ON gateway.session (expires_at)",
    """CREATE TABLE gateway.password (
        tenant uuid NOT NULL, account uuid PRIMARY KEY, hash text NOT NULL, changed_at timestamptz NOT NULL)""",
    """CREATE TABLE gateway.identity (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, account uuid NOT NULL, issuer text NOT NULL, subject text NOT NULL,
        created_at timestamptz NOT NULL, UNIQUE (tenant, issuer, subject))""",
    "CREATE INDEX identity_account ON gateway.identity (account)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("session", "password", "identity"):
        protect(op, "gateway", table)


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
