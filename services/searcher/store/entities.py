"""Load and save experiments, trials and journals. A change of a trial requires its experiment's lock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import ARRAY, Column, Double, Text, Uuid, any_, bindparam, cast, func, select, union
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.budget.ledger import BudgetUsage
from services.searcher.core.experiment.entities import ExperimentRecord, TrialRecord
from services.searcher.core.experiment.states import EXPERIMENT, TRIAL, ExperimentState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.reducers.changes import Decision
from services.searcher.store import rows
from services.searcher.store.tables import SAVE, experiment, journal, trial
from shared.database.statements import as_json, records
from shared.ids import CheckpointId, ExperimentId, TenantId, TrialId

_EXPERIMENT = [column for column in experiment.c if column.name != "config"]
_TRIAL = list(trial.c)
_LOCK = (
    select(*_EXPERIMENT, *_TRIAL)
    .join_from(trial, experiment, experiment.c.id == trial.c.experiment)
    .where(trial.c.id == any_(bindparam("ids", type_=ARRAY(Uuid))))
    .order_by(experiment.c.id, trial.c.number)
    .with_for_update(of=[experiment, trial])
)
_MADE = [column for column in experiment.c if column.name != "published_at"]
_INSERT = (
    insert(experiment)
    .from_select(_MADE, select(records(_MADE)))
    .on_conflict_do_nothing()
    .returning(experiment.c.id)
)
_FINAL_TRIALS = [state.value for state in TRIAL.final]
_FINAL_EXPERIMENTS = [state.value for state in EXPERIMENT.final]


@dataclass(frozen=True, slots=True)
class Submission:
    """The submission that an experiment was created from; it never changes."""

    tenant: TenantId
    id: ExperimentId
    number: int
    name: str
    workspace: str
    owner: str
    config: dict[str, JsonValue]
    seed: int
    code_hash: str | None
    start_checkpoint: CheckpointId | None
    at: datetime


_SUBMITTED = [field.name for field in fields(Submission)]


@dataclass(slots=True)
class Locked:
    """A locked experiment with the requested trials."""

    experiment: ExperimentRecord
    trials: list[TrialRecord]


async def insert_submissions(
    connection: AsyncConnection, given: Sequence[tuple[Submission, ExperimentRecord]]
) -> frozenset[ExperimentId]:
    """Insert experiments and return the ids of those that are new."""
    made_rows = [
        {
            **{name: getattr(submission, name) for name in _SUBMITTED},
            **rows.of_experiment(made),
            "started_at": made.started_at,
        }
        for submission, made in given
    ]
    found = await connection.scalars(_INSERT, {"records": as_json(made_rows)})
    return frozenset(map(ExperimentId, found))


async def load_submission(connection: AsyncConnection, experiment_id: ExperimentId) -> Submission:
    """Return an experiment's submission."""
    found = await connection.execute(select(experiment).where(experiment.c.id == experiment_id))
    row = found.one()
    return Submission(
        tenant=TenantId(row.tenant),
        id=experiment_id,
        number=row.number,
        name=row.name,
        workspace=row.workspace,
        owner=row.owner,
        config=row.config,
        seed=row.seed,
        code_hash=row.code_hash,
        start_checkpoint=row.start_checkpoint,
        at=row.started_at,
    )


async def lock_by_trials(connection: AsyncConnection, trials: Iterable[TrialId]) -> list[Locked]:
    """Lock the experiments of these trials in the order of their ids, and return both in their current state.

    The trials' rows are locked too; otherwise they would not be read again after waiting for the experiment.
    """
    locked: dict[UUID, Locked] = {}
    for row in await connection.execute(_LOCK, {"ids": list(trials)}):
        entity = rows.to_experiment(_read(_EXPERIMENT, row))
        locked.setdefault(entity.id, Locked(entity, [])).trials.append(
            rows.to_trial(_read(_TRIAL, row[len(_EXPERIMENT) :]))
        )
    return list(locked.values())


async def lock_experiment(
    connection: AsyncConnection, experiment_id: ExperimentId
) -> ExperimentRecord | None:
    """Lock one experiment and return its current state."""
    found = await connection.execute(
        select(*_EXPERIMENT).where(experiment.c.id == experiment_id).with_for_update()
    )
    row = found.first()
    return rows.to_experiment(row._mapping) if row else None


async def lock_trials(
    connection: AsyncConnection, experiment_id: ExperimentId, numbers: Sequence[int]
) -> list[TrialRecord]:
    """Return these trials, by number; the experiment must be locked."""
    found = await connection.execute(
        select(trial)
        .where(trial.c.experiment == experiment_id, trial.c.number.in_(numbers))
        .order_by(trial.c.number)
        .with_for_update()
    )
    return [rows.to_trial(row._mapping) for row in found]


async def lock_live_trials(connection: AsyncConnection, experiment_id: ExperimentId) -> list[TrialRecord]:
    """Return the trials that are not final, by number; the experiment must be locked."""
    found = await connection.execute(
        select(trial)
        .where(trial.c.experiment == experiment_id, trial.c.state.not_in(_FINAL_TRIALS))
        .order_by(trial.c.number)
        .with_for_update()
    )
    return [rows.to_trial(row._mapping) for row in found]


async def load_used(connection: AsyncConnection, experiment_id: ExperimentId) -> BudgetUsage:
    """Return the counted usage of the trials that have ended."""
    past = [cast(trial.c.usage["past"][name].astext, Double) for name in ("wall_ms", "slot_ms", "cost")]
    found = await connection.execute(
        select(*(func.coalesce(func.sum(each), 0.0) for each in past)).where(
            trial.c.experiment == experiment_id, trial.c.state.in_(_FINAL_TRIALS)
        )
    )
    return BudgetUsage(*found.one())


async def save(
    connection: AsyncConnection, tenant: TenantId, decisions: Sequence[Decision], now: datetime
) -> None:
    """Save what the decisions change, in one statement."""
    experiments = [rows.of_experiment(decision.experiment) for decision in decisions]
    trials = [
        rows.of_trial(each, decision.experiment.id, tenant)
        for decision in decisions
        for each in decision.trials.values()
    ]
    entries = [
        rows.of_entry(entry, decision.experiment.id, tenant, now)
        for decision in decisions
        for entry in decision.entries
    ]
    written = {"experiments": experiments, "trials": trials, "entries": entries}
    await connection.execute(SAVE, {name: as_json(part) for name, part in written.items()})


async def load_journal(
    connection: AsyncConnection, experiment_id: ExperimentId, after: int, limit: int | None = None
) -> list[tuple[Entry, datetime]]:
    """Return the journal's entries after position `after`, in order, each with its time."""
    found = await connection.execute(
        select(journal)
        .where(journal.c.experiment == experiment_id, journal.c.position > after)
        .order_by(journal.c.position)
        .limit(limit)
    )
    return [(rows.to_entry(row), row.at) for row in found]


async def load_journal_lines(
    connection: AsyncConnection, experiment_id: ExperimentId, after: int, limit: int
) -> list[bytes]:
    """Return the entries after `after` as JSON lines, in order, without parsing them."""
    query = (
        select(journal.c.position, journal.c.kind, cast(journal.c.facts, Text).label("facts"))
        .where(journal.c.experiment == experiment_id, journal.c.position > after)
        .order_by(journal.c.position)
        .limit(limit)
    )
    return [
        b'{"position":%d,"kind":"%b","facts":%b}\n' % (row.position, row.kind.encode(), row.facts.encode())
        for row in await connection.execute(query)
    ]


async def load_position(connection: AsyncConnection, experiment_id: ExperimentId) -> int | None:
    """Return the length of the experiment's journal; None where the tenant has no such experiment."""
    found = await connection.execute(select(experiment.c.position).where(experiment.c.id == experiment_id))
    return found.scalar_one_or_none()


async def has_experiment(connection: AsyncConnection, experiment_id: ExperimentId) -> bool:
    """Whether the tenant has such an experiment."""
    found = await connection.execute(select(experiment.c.id).where(experiment.c.id == experiment_id))
    return found.first() is not None


async def load_state(
    connection: AsyncConnection, experiment_id: ExperimentId
) -> tuple[ExperimentState, int] | None:
    """Return an experiment's state and the length of its journal."""
    query = select(experiment.c.state, experiment.c.position).where(experiment.c.id == experiment_id)
    row = (await connection.execute(query)).first()
    return (ExperimentState(row.state), row.position) if row else None


async def load_references(
    connection: AsyncConnection, checkpoints: Iterable[CheckpointId]
) -> frozenset[CheckpointId]:
    """Return which of the checkpoints a live experiment or a live trial starts from."""
    wanted = list(checkpoints)
    of_experiments = select(experiment.c.start_checkpoint).where(
        experiment.c.start_checkpoint.in_(wanted), experiment.c.state.not_in(_FINAL_EXPERIMENTS)
    )
    of_trials = select(trial.c.start_checkpoint).where(
        trial.c.start_checkpoint.in_(wanted), trial.c.state.not_in(_FINAL_TRIALS)
    )
    found = await connection.execute(union(of_experiments, of_trials))
    return frozenset(CheckpointId(row.start_checkpoint) for row in found)


def _read(columns: Sequence[Column[Any]], values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip((column.name for column in columns), values, strict=False))
