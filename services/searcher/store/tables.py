"""Tables of schema `searcher`, and the statement that saves decisions."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert

from shared.database.statements import records

SCHEMA = "searcher"
METADATA = MetaData(schema=SCHEMA)
_Moment = DateTime(timezone=True)

experiment = Table(
    "experiment",
    METADATA,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("config", JSONB, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("code_hash", Text),
    Column("start_checkpoint", Uuid),
    Column("started_at", _Moment, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("outcome", Text),
    Column("reason", Text),
    Column("priority", Integer),
    Column("planned", Integer),
    Column("archived", Boolean, nullable=False),
    Column("progress", Double, nullable=False),
    Column("best_trial", Integer),
    Column("best_step", BigInteger),
    Column("best_value", Double),
    Column("best_others", JSONB),
    Column("counts", JSONB, nullable=False),
    Column("ended_at", _Moment),
    Column("limits", JSONB),
    Column("due_at", _Moment),
    Column("dirty", Boolean, nullable=False),
    Column("published_at", _Moment),
)
trial = Table(
    "trial",
    METADATA,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("experiment", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("point", JSONB, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("created_at", _Moment, nullable=False),
    Column("decide_at", Double),
    Column("state", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("desired_state", Text, nullable=False),
    Column("request_version", BigInteger, nullable=False),
    Column("request", Integer, nullable=False),
    Column("is_stopped", Boolean, nullable=False),
    Column("reached_max_time", Boolean, nullable=False),
    Column("is_paused_by_search", Boolean, nullable=False),
    Column("run", Integer, nullable=False),
    Column("reported_run", Integer, nullable=False),
    Column("reported_validation", BigInteger, nullable=False),
    Column("settled_run", Integer, nullable=False),
    Column("settled_checkpoints", Integer, nullable=False),
    Column("ended_run", Integer),
    Column("ended_validations", BigInteger),
    Column("ended_checkpoints", Integer),
    Column("closed_outcome", Text),
    Column("closed_runs", Integer),
    Column("closed_reason", Text),
    Column("closed_at", _Moment),
    Column("source", Integer),
    Column("start_checkpoint", Uuid),
    Column("checkpoint", Uuid),
    Column("checkpoint_run", Integer),
    Column("checkpoint_step", BigInteger),
    Column("usage", JSONB),
    Column("best_step", BigInteger),
    Column("best_value", Double),
    Column("best_others", JSONB),
    Column("latest_step", BigInteger),
    Column("latest_value", Double),
    Column("latest_others", JSONB),
    Column("reason", Text),
    Column("ended_at", _Moment),
    Column("dirty", Boolean, nullable=False),
)
journal = Table(
    "journal",
    METADATA,
    Column("tenant", Uuid, nullable=False),
    Column("experiment", Uuid, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("kind", Text, nullable=False),
    Column("facts", JSONB, nullable=False),
)

pool = Table(
    "pool",
    METADATA,
    Column("pool", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("idle_slots", Integer, nullable=False),
    Column("waiting_slots", Integer, nullable=False),
    Column("used_version", BigInteger, nullable=False, server_default="0"),
    Column("price_per_slot_hour", Double),
)
driver = Table(
    "driver",
    METADATA,
    Column("tenant", Uuid, nullable=False),
    Column("experiment", Uuid, primary_key=True),
    Column("name", Text),
    Column("seen_at", _Moment, nullable=False),
    Column("acknowledged", BigInteger, nullable=False),
)
snapshot = Table(
    "snapshot",
    METADATA,
    Column("tenant", Uuid, nullable=False),
    Column("experiment", Uuid, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("code", Text, nullable=False),
    Column("state", LargeBinary, nullable=False),
)

FIXED = frozenset(
    {
        *("tenant", "number", "name", "workspace", "owner", "config", "seed", "code_hash"),
        *("start_checkpoint", "started_at", "published_at"),
    }
)
"""Columns of an experiment that no decision changes."""
MADE = frozenset(
    {"id", "tenant", "experiment", "number", "point", "seed", "slots", "source", "start_checkpoint"}
)
"""Columns of a trial that never change."""


def _save() -> Insert:
    of_experiment = [column for column in experiment.c if column.name not in FIXED]
    changed = records(of_experiment, "experiments")
    values = {column.name: changed.c[column.name] for column in of_experiment if column.name != "id"}
    experiments = update(experiment).where(experiment.c.id == changed.c.id).values(values)
    trials = insert(trial).from_select(list(trial.c), select(records(trial.c, "trials")))
    changing = [column.name for column in trial.c if column.name not in MADE]
    trials = trials.on_conflict_do_update(
        index_elements=["id"], set_={name: trials.excluded[name] for name in changing}
    )
    entries = insert(journal).from_select(list(journal.c), select(records(journal.c, "entries")))
    return entries.add_cte(experiments.cte("saved_experiments"), trials.cte("saved_trials"))


SAVE = _save()
"""Save everything that decisions change, in one round trip; takes `experiments`, `trials` and `entries` of journals (`records`)."""
