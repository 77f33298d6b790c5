"""Add search terms of experiments: labels and trigrams of names (decision 0154)."""

from alembic import op

from shared.database.engine import protect

revision = "gateway_0019"
down_revision = "gateway_0018"
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE gateway.experiment_term (
        tenant uuid NOT NULL, term text COLLATE "C" NOT NULL, number integer NOT NULL, PRIMARY KEY (tenant, term, number))""",
    # A term starts at every character; the last two are shorter. So every substring of a name is the prefix of a term, or starts with one.
    """CREATE FUNCTION gateway.terms_of(name text, labels text[]) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
        SELECT '=' || label FROM unnest(labels) AS label
        UNION
        SELECT '~' || substr(lower(name), place, 3) FROM generate_series(1, length(lower(name))) AS place
    $$""",
    """CREATE FUNCTION gateway.keep_terms() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM gateway.experiment_term AS known USING gateway.terms_of(OLD.name, OLD.labels) AS former(word)
                WHERE known.tenant = OLD.tenant AND known.number = OLD.number AND known.term = former.word;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO gateway.experiment_term (tenant, term, number)
                SELECT NEW.tenant, word, NEW.number FROM gateway.terms_of(NEW.name, NEW.labels) AS own(word);
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER terms AFTER INSERT OR DELETE OR UPDATE OF name, labels ON gateway.experiment
        FOR EACH ROW EXECUTE FUNCTION gateway.keep_terms()""",
)
FILL = """
INSERT INTO gateway.experiment_term (tenant, term, number)
SELECT tenant, word, number FROM gateway.experiment, gateway.terms_of(name, labels) AS own(word)
"""


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    # Forced row-level security would hide all rows from the tables' owner.
    op.execute("ALTER TABLE gateway.experiment NO FORCE ROW LEVEL SECURITY")
    op.execute(FILL)
    op.execute("ALTER TABLE gateway.experiment FORCE ROW LEVEL SECURITY")
    protect(op, "gateway", "experiment_term")


def downgrade() -> None:
    raise NotImplementedError("the platform goes forward only; restore a backup instead")
