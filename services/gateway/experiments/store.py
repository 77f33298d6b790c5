"""Experiments, trials and runs as they are listed; the submission is `submissions`, what is said of them comes by `projections`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Double,
    Row,
    Select,
    and_,
    case,
    cast,
    false,
    func,
    not_,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.search_terms import find_candidates, is_newest_first, load_newest
from services.gateway.platform.tables import experiment, run, trial
from shared.expressions.fields import Field, Wanted
from shared.expressions.sql import Cells, Part, condition, load_part
from shared.expressions.tree import Filter
from shared.statements import among

_LISTED = [column for column in experiment.c if column.name not in ("config", "config_yaml")]


@dataclass(frozen=True, slots=True)
class Standing:
    """Which trials: in one of these states (none: in any), and called invalid by their scripts: True, these too, or alone; False, none of these."""

    states: Sequence[str] = ()
    invalid: bool | None = None

    @property
    def condition(self) -> ColumnElement[bool]:
        """As the database understands it."""
        is_in = trial.c.state.in_(self.states) if self.states else true()
        is_invalid = func.coalesce(trial.c.changed["invalid"].as_boolean(), false())
        if self.invalid is None:
            return is_in
        if not self.invalid:
            return and_(is_in, not_(is_invalid))
        return or_(is_in, is_invalid) if self.states else is_invalid


ALL = Standing()
_NOT_FINITE = (float("inf"), float("-inf"), float("nan"))


def _shown(value: ColumnElement[float]) -> ColumnElement[float | None]:
    """As it is shown: what is not finite is not."""
    return case((value.not_in(_NOT_FINITE), value))


def _moment(value: ColumnElement[Any]) -> ColumnElement[datetime]:
    """The time that stands in a document."""
    return cast(value.as_string(), DateTime(timezone=True))


EXPERIMENTS = Cells(
    experiment,
    {
        "best.value": _shown(cast(experiment.c.best["value"].as_string(), Double)),
        "trials.running": func.coalesce(experiment.c.trials["running"].as_integer(), 0),
        "trials.error": func.coalesce(experiment.c.trials["error"].as_integer(), 0),
        "priority": func.coalesce(experiment.c.rank["priority"].as_integer(), experiment.c.priority),
    },
)
"""What of an experiment a list can go by."""

TRIALS = Cells(
    trial,
    {
        "best.value": _shown(trial.c.best_value),
        "invalid": func.coalesce(trial.c.changed["invalid"].as_boolean(), false()),
        "finishing": func.coalesce(trial.c.changed["finishing"].as_boolean(), false()),
        "final": func.coalesce(trial.c.changed["final"].as_boolean(), false()),
        **{name: trial.c.changed[name].as_integer() for name in ("seed", "slots", "source", "runs")},
        **{name: _moment(trial.c.changed[name]) for name in ("created_at", "ended_at")},
    },
)
"""What of a trial a list can go by."""
RUNS = Cells(
    run,
    {
        **{name: run.c.changed[name].as_string() for name in ("outcome", "pool")},
        "exit_code": run.c.changed["exit_code"].as_integer(),
        "charged": func.coalesce(run.c.changed["charged"].as_boolean(), false()),
        **{name: _moment(run.c.changed[name]) for name in ("granted_at", "ended_at")},
    },
)
"""What of a run a list can go by."""


async def load_experiment(connection: AsyncConnection, reference: int | UUID) -> Row[Any] | None:
    """By its number or id; None when the tenant has no such."""
    column = experiment.c.number if isinstance(reference, int) else experiment.c.id
    return (await connection.execute(select(experiment).where(column == reference))).one_or_none()


async def load_names(
    connection: AsyncConnection, experiments: Collection[UUID]
) -> dict[UUID, tuple[int, str]]:
    """Number and name of each that there is, by its id."""
    query = select(experiment.c.id, experiment.c.number, experiment.c.name)
    found = await connection.execute(query.where(among(experiment.c.id, experiments)))
    return {row.id: (row.number, row.name) for row in found}


async def load_labels(connection: AsyncConnection, experiments: Collection[UUID]) -> dict[UUID, list[str]]:
    """The labels of each that there is, by its id."""
    query = select(experiment.c.id, experiment.c.labels)
    found = await connection.execute(query.where(among(experiment.c.id, experiments)))
    return {row.id: row.labels for row in found}


async def load_known_numbers(connection: AsyncConnection, numbers: Collection[int]) -> set[int]:
    """Those of the numbers that are experiments' here."""
    query = select(experiment.c.number).where(experiment.c.number.in_(numbers))
    return set((await connection.execute(query)).scalars())


async def load_ids(connection: AsyncConnection, limit: int) -> Sequence[UUID]:
    """The newest first."""
    query = select(experiment.c.id).order_by(experiment.c.number.desc()).limit(limit)
    return (await connection.execute(query)).scalars().all()


async def load_listed(
    connection: AsyncConnection,
    states: Sequence[str],
    labels: Sequence[str],
    name_contains: str | None,
    archived: bool,
    wanted: Wanted,
) -> Part:
    """The experiments that a list shows, without their configs."""
    query: Select[Any] = select(*_LISTED)
    query = query.where(experiment.c.archived == archived, experiment.c.deleting.is_(False))
    if states:
        query = query.where(experiment.c.state.in_(states))
    if labels:
        query = query.where(experiment.c.labels.contains(list(labels)))
    if name_contains:
        query = query.where(experiment.c.name.icontains(name_contains, autoescape=True))
    texts = [name_contains] if name_contains else []
    candidates = await find_candidates(connection, labels, texts, wanted.filter)
    if candidates is None:
        return await load_part(connection, query, EXPERIMENTS, wanted)
    if is_newest_first(wanted):
        return await load_newest(connection, query, EXPERIMENTS, candidates, wanted)
    found = candidates.subquery("found")
    query = query.join(found, found.c.number == experiment.c.number)
    return await load_part(connection, query, EXPERIMENTS, wanted)


async def load_met(connection: AsyncConnection, met: Filter[Field] | None, archived: bool) -> Sequence[UUID]:
    """The ids of all that meet a filter, newest first."""
    query = select(experiment.c.id).where(experiment.c.archived == archived, experiment.c.deleting.is_(False))
    if met is not None:
        query = query.where(condition(met, EXPERIMENTS))
    return (await connection.execute(query.order_by(experiment.c.number.desc()))).scalars().all()


async def load_by_ids(connection: AsyncConnection, ids: Collection[UUID]) -> Sequence[Row[Any]]:
    """As they are listed, in no order."""
    found: Sequence[Row[Any]] = (
        await connection.execute(select(*_LISTED).where(among(experiment.c.id, ids)))
    ).all()
    return found


async def save_labels(connection: AsyncConnection, experiment_id: UUID, labels: Sequence[str]) -> None:
    """The words by which it is found follow, by the table's trigger."""
    statement = update(experiment).where(experiment.c.id == experiment_id)
    await connection.execute(statement.values(labels=list(labels)))


async def load_points(connection: AsyncConnection, trials: Collection[UUID]) -> dict[UUID, Any]:
    """The hyperparameters of these trials, by their ids."""
    query = select(trial.c.id, trial.c.changed["hyperparameters"].label("point"))
    rows = await connection.execute(query.where(trial.c.id.in_(trials)))
    return {row.id: row.point for row in rows}


async def load_workspaces(connection: AsyncConnection) -> Sequence[str]:
    """The workspaces that have experiments."""
    return (await connection.execute(select(experiment.c.workspace).distinct())).scalars().all()


async def load_trial(connection: AsyncConnection, reference: UUID | tuple[int, int]) -> Row[Any] | None:
    """By its id, or by the experiment's number and its own; with its experiment's number and config, and whether that is being deleted."""
    query = select(
        trial, experiment.c.number.label("experiment_number"), experiment.c.config, experiment.c.deleting
    ).join(experiment, trial.c.experiment == experiment.c.id)
    if isinstance(reference, UUID):
        query = query.where(trial.c.id == reference)
    else:
        query = query.where(experiment.c.number == reference[0], trial.c.number == reference[1])
    return (await connection.execute(query)).one_or_none()


async def load_trial_numbers(
    connection: AsyncConnection, ids: Collection[UUID]
) -> dict[UUID, tuple[int, int]]:
    """The numbers of trials' experiments, and their own."""
    query = select(trial.c.id, experiment.c.number, trial.c.number).join(
        experiment, trial.c.experiment == experiment.c.id
    )
    rows = await connection.execute(query.where(trial.c.id.in_(ids)))
    return {found: (experiment_number, number) for found, experiment_number, number in rows}


async def load_listed_trials(
    connection: AsyncConnection, experiment_id: UUID, standing: Standing, wanted: Wanted
) -> Part:
    query = select(trial).where(trial.c.experiment == experiment_id).where(standing.condition)
    return await load_part(connection, query, TRIALS, wanted)


async def load_trials(
    connection: AsyncConnection,
    experiment_id: UUID,
    standing: Standing,
    above: int | None,
    limit: int,
) -> Sequence[Row[Any]]:
    """In the order of their numbers, those above `above`."""
    query = select(trial).where(trial.c.experiment == experiment_id)
    query = query.where(standing.condition)
    if above is not None:
        query = query.where(trial.c.number > above)
    return (await connection.execute(query.order_by(trial.c.number).limit(limit))).all()


async def load_standings(
    connection: AsyncConnection,
    experiment_id: UUID,
    *,
    numbers: Collection[int] = (),
    above: int | None = None,
    limit: int | None = None,
) -> Sequence[Row[Any]]:
    """Which of the trials with these numbers, or with numbers above one, have ended, and when; in the order of their numbers."""
    told = trial.c.changed
    query = select(
        trial.c.id,
        trial.c.number,
        told["final"].as_boolean().label("final"),
        cast(told["ended_at"].as_string(), DateTime(timezone=True)).label("ended_at"),
    ).where(trial.c.experiment == experiment_id)
    query = query.where(trial.c.number > above if above is not None else trial.c.number.in_(numbers))
    return (await connection.execute(query.order_by(trial.c.number).limit(limit))).all()


async def load_best_trials(
    connection: AsyncConnection, experiment_id: UUID, smaller_is_better: bool, limit: int
) -> Sequence[Row[Any]]:
    """Best first, ties by number, those without a value last."""
    value = trial.c.best_value if smaller_is_better else -trial.c.best_value
    query = select(trial).where(trial.c.experiment == experiment_id)
    return (await connection.execute(query.order_by(value.nulls_last(), trial.c.number).limit(limit))).all()


async def load_runs(connection: AsyncConnection, trial_id: UUID, wanted: Wanted) -> Part:
    return await load_part(connection, select(run).where(run.c.trial == trial_id), RUNS, wanted)
