"""First tables of the searcher."""

from alembic import op

from shared.database.engine import delivery_tables, protect

revision = "searcher_0001"
down_revision = None
branch_labels = None
depends_on = None

STATEMENTS = (
    """CREATE TABLE searcher.experiment (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, number integer NOT NULL, name text NOT NULL,
        config jsonb NOT NULL, seed bigint NOT NULL, code_hash text, start_checkpoint uuid,
        started_at timestamptz NOT NULL, state text NOT NULL, version bigint NOT NULL, position bigint NOT NULL,
        outcome text, reason text, priority integer, planned integer, archived boolean NOT NULL, progress double precision NOT NULL,
        best_trial integer, best_step bigint, best_value double precision, counts jsonb NOT NULL,
        ended_at timestamptz, dirty boolean NOT NULL, told_at timestamptz) WITH (fillfactor = 60)""",
    "CREATE INDEX experiment_dirty ON searcher.experiment (id) WHERE dirty",
    """CREATE INDEX experiment_start_checkpoint ON searcher.experiment (start_checkpoint)
        WHERE start_checkpoint IS NOT NULL""",
    """CREATE TABLE searcher.trial (
        tenant uuid NOT NULL, id uuid PRIMARY KEY, experiment uuid NOT NULL, number integer NOT NULL,
        point jsonb NOT NULL, seed bigint NOT NULL, slots integer NOT NULL, created_at timestamptz NOT NULL, decide_at double precision,
        state text NOT NULL, version bigint NOT NULL, wanted text NOT NULL, wish bigint NOT NULL,
        request integer NOT NULL, is_stopped boolean NOT NULL, is_at_top boolean NOT NULL, run integer NOT NULL,
        reported_run integer NOT NULL, reported_number bigint NOT NULL, settled_run integer NOT NULL,
        settled_count integer NOT NULL, ended_run integer, ended_validations bigint, ended_checkpoints integer,
        closed_outcome text, closed_runs integer, closed_reason text, closed_at timestamptz,
        best_step bigint, best_value double precision, latest_step bigint, latest_value double precision,
        reason text, ended_at timestamptz, dirty boolean NOT NULL) WITH (fillfactor = 70)""",
    "CREATE UNIQUE INDEX trial_number ON searcher.trial (experiment, number)",
    """CREATE INDEX trial_live ON searcher.trial (experiment, number)
        WHERE state IN ('queued', 'running', 'parked', 'stopping')""",
    "CREATE INDEX trial_dirty ON searcher.trial (id) WHERE dirty",
    "CREATE INDEX trial_settling ON searcher.trial (closed_at) WHERE state = 'stopping' AND closed_at IS NOT NULL",
    """CREATE TABLE searcher.journal (
        tenant uuid NOT NULL, experiment uuid NOT NULL, position bigint NOT NULL, at timestamptz NOT NULL,
        kind text NOT NULL, facts jsonb NOT NULL, PRIMARY KEY (experiment, position))""",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("experiment", "trial", "journal"):
        protect(op, "searcher", table)
    delivery_tables(op, "searcher")


def downgrade() -> None:
    for table in ("journal", "trial", "experiment", "inbox", "outbox"):
        op.execute(f"DROP TABLE searcher.{table}")
