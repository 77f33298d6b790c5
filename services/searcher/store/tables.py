"""Tables of schema `searcher`, and the one statement that saves them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    MetaData,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import JSONB

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
    Column("terms", JSONB),
    Column("due_at", _Moment),
    Column("dirty", Boolean, nullable=False),
    Column("told_at", _Moment),
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
    Column("wanted", Text, nullable=False),
    Column("wish", BigInteger, nullable=False),
    Column("request", Integer, nullable=False),
    Column("is_stopped", Boolean, nullable=False),
    Column("is_at_top", Boolean, nullable=False),
    Column("is_held", Boolean, nullable=False),
    Column("run", Integer, nullable=False),
    Column("reported_run", Integer, nullable=False),
    Column("reported_number", BigInteger, nullable=False),
    Column("settled_run", Integer, nullable=False),
    Column("settled_count", Integer, nullable=False),
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
    Column("account", JSONB),
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

FIXED = frozenset(
    {
        *("tenant", "number", "name", "workspace", "owner", "config", "seed", "code_hash"),
        *("start_checkpoint", "started_at", "told_at"),
    }
)
"""Columns of an experiment that no decision changes."""
MADE = frozenset(
    {"id", "tenant", "experiment", "number", "point", "seed", "slots", "source", "start_checkpoint"}
)
"""Columns of a trial that stay as it was made."""


def _typed(table: Table, names: list[str]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return ", ".join(f'"{name}" {table.c[name].type.compile(dialect)}' for name in names)


def _names(names: list[str], prefix: str = "") -> str:
    return ", ".join(f'{prefix}"{name}"' for name in names)


def _assigned(names: list[str], source: str) -> str:
    return ", ".join(f'"{name}" = {source}."{name}"' for name in names if name != "id")


def _save() -> str:
    of_experiment = [column.name for column in experiment.c if column.name not in FIXED]
    of_trial = [column.name for column in trial.c]
    of_journal = [column.name for column in journal.c]
    changing = [name for name in of_trial if name not in MADE]
    return (
        f"WITH experiments AS (UPDATE {SCHEMA}.experiment AS e SET {_assigned(of_experiment, 'r')}"
        f" FROM jsonb_to_recordset($1::jsonb) AS r({_typed(experiment, of_experiment)})"
        f" WHERE e.id = r.id),"
        f" trials AS (INSERT INTO {SCHEMA}.trial ({_names(of_trial)}) SELECT {_names(of_trial, 'r.')}"
        f" FROM jsonb_to_recordset($2::jsonb) AS r({_typed(trial, of_trial)})"
        f" ON CONFLICT (id) DO UPDATE SET {_assigned(changing, 'excluded')})"
        f" INSERT INTO {SCHEMA}.journal ({_names(of_journal)}) SELECT {_names(of_journal, 'r.')}"
        f" FROM jsonb_to_recordset($3::jsonb) AS r({_typed(journal, of_journal)})"
    )


SAVE = _save()
"""Saves everything that decisions change, in one round trip; three JSON arrays of rows: experiments, trials, entries of journals."""
