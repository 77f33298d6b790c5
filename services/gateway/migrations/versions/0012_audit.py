"""Add the audit log: written with each change, sealed into a chain, append-only for all roles that services use."""

from alembic import op

revision = "gateway_0012"
down_revision = "gateway_0011"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.audit_waiting (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant uuid NOT NULL, record json NOT NULL)""",
    """CREATE TABLE gateway.audit (
        tenant uuid NOT NULL, sequence bigint NOT NULL, record json NOT NULL, hash bytea NOT NULL,
        sealed_at timestamptz NOT NULL,
        at text COLLATE "C" GENERATED ALWAYS AS (record ->> 'at') STORED,
        actor text GENERATED ALWAYS AS (record ->> 'actor') STORED,
        operation text GENERATED ALWAYS AS (record ->> 'operation') STORED,
        entity text GENERATED ALWAYS AS (record ->> 'entity') STORED,
        outcome text GENERATED ALWAYS AS (record ->> 'outcome') STORED,
        PRIMARY KEY (tenant, sequence))""",
    "CREATE INDEX audit_at ON gateway.audit (tenant, at)",
    "CREATE INDEX audit_actor ON gateway.audit (tenant, actor, sequence)",
    "CREATE INDEX audit_entity ON gateway.audit (tenant, entity, sequence)",
    "CREATE INDEX audit_denied ON gateway.audit (tenant, sequence) WHERE outcome = 'denied'",
    # The trigger also stops roles with more grants than a service; only the owner of the table can drop it first.
    """CREATE FUNCTION gateway.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'the audit log is only ever added to'; END $$""",
    """CREATE TRIGGER only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON gateway.audit
        FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change()""",
    # All transactions insert unsealed records; only the sealer reads and deletes them.
    "GRANT INSERT ON gateway.audit_waiting TO gateway_tenant",
    "GRANT SELECT, INSERT, DELETE ON gateway.audit_waiting TO gateway_system",
    "GRANT SELECT ON gateway.audit TO gateway_tenant",
    "GRANT SELECT, INSERT ON gateway.audit TO gateway_system",
)
MINE = "tenant = nullif(current_setting('muster.tenant', true), '')::uuid"


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("audit_waiting", "audit"):
        name = f"gateway.{table}"
        op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own ON {name} TO gateway_tenant USING ({MINE}) WITH CHECK ({MINE})")
        op.execute(f"CREATE POLICY every ON {name} TO gateway_system USING (true) WITH CHECK (true)")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
