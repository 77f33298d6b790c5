"""Reads trials and runs from the database."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, DateTime, Row, and_, case, cast, false, func, not_, or_, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.store import finite_cell
from services.gateway.experiments.tables import experiment
from services.gateway.trials.tables import run, trial
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part
from shared.messages.runs import WORKER_STOPPED


@dataclass(frozen=True, slots=True)
class TrialStateFilter:
    """A filter on the states of trials; no states match any.

    Attributes:
        invalid: trials that their scripts reported as invalid. True: match these too, or only these without states; False: none of these.
    """

    states: Sequence[str] = ()
    invalid: bool | None = None

    @property
    def condition(self) -> ColumnElement[bool]:
        """The filter as an SQL condition."""
        is_in = trial.c.state.in_(self.states) if self.states else true()
        is_invalid = func.coalesce(trial.c.last_event["invalid"].as_boolean(), false())
        if self.invalid is None:
            return is_in
        if not self.invalid:
            return and_(is_in, not_(is_invalid))
        return or_(is_in, is_invalid) if self.states else is_invalid


ANY_STATE = TrialStateFilter()


def _moment(value: ColumnElement[Any]) -> ColumnElement[datetime]:
    """Cast a JSON string to a time."""
    return cast(value.as_string(), DateTime(timezone=True))


TRIALS = Cells(
    trial,
    {
        "best.value": finite_cell(trial.c.best_value),
        "invalid": func.coalesce(trial.c.last_event["invalid"].as_boolean(), false()),
        "finishing": func.coalesce(trial.c.last_event["finishing"].as_boolean(), false()),
        "final": func.coalesce(trial.c.last_event["final"].as_boolean(), false()),
        **{name: trial.c.last_event[name].as_integer() for name in ("seed", "slots", "source", "runs")},
        **{name: _moment(trial.c.last_event[name]) for name in ("created_at", "ended_at")},
    },
)
"""Columns that lists of trials filter and sort by."""

_OUTCOME = run.c.last_event["outcome"].as_string()
_IS_INTERRUPTED = and_(_OUTCOME == "lost", run.c.last_event["reason"].as_string() == WORKER_STOPPED)
RUNS = Cells(
    run,
    {
        "outcome": case((_IS_INTERRUPTED, "interrupted"), else_=_OUTCOME),
        "pool": run.c.last_event["pool"].as_string(),
        "exit_code": run.c.last_event["exit_code"].as_integer(),
        "charged": func.coalesce(run.c.last_event["charged"].as_boolean(), false()),
        **{name: _moment(run.c.last_event[name]) for name in ("granted_at", "ended_at")},
    },
)
"""Columns that lists of runs filter and sort by."""


async def load_points(connection: AsyncConnection, trials: Collection[UUID]) -> dict[UUID, Any]:
    """Load the hyperparameters of trials, by trial id."""
    query = select(trial.c.id, trial.c.last_event["hyperparameters"].label("point"))
    rows = await connection.execute(query.where(trial.c.id.in_(trials)))
    return {row.id: row.point for row in rows}


async def load_trial(connection: AsyncConnection, reference: UUID | tuple[int, int]) -> Row[Any] | None:
    """Load a trial by id, or by experiment number and trial number, with its experiment's number, config and `deleting`."""
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
    """Load the experiment number and trial number of each trial."""
    query = select(trial.c.id, experiment.c.number, trial.c.number).join(
        experiment, trial.c.experiment == experiment.c.id
    )
    rows = await connection.execute(query.where(trial.c.id.in_(ids)))
    return {found: (experiment_number, number) for found, experiment_number, number in rows}


async def load_listed_trials(
    connection: AsyncConnection, experiment_id: UUID, state_filter: TrialStateFilter, wanted: ListQuery
) -> RowPage:
    query = select(trial).where(trial.c.experiment == experiment_id).where(state_filter.condition)
    return await load_part(connection, query, TRIALS, wanted)


async def load_trials(
    connection: AsyncConnection,
    experiment_id: UUID,
    state_filter: TrialStateFilter,
    above: int | None,
    limit: int,
) -> Sequence[Row[Any]]:
    """Load trials with numbers above `above`, by number."""
    query = select(trial).where(trial.c.experiment == experiment_id)
    query = query.where(state_filter.condition)
    if above is not None:
        query = query.where(trial.c.number > above)
    return (await connection.execute(query.order_by(trial.c.number).limit(limit))).all()


async def load_trial_outcomes(
    connection: AsyncConnection,
    experiment_id: UUID,
    *,
    numbers: Collection[int] = (),
    above: int | None = None,
    limit: int | None = None,
) -> Sequence[Row[Any]]:
    """Load whether and when trials ended, by number: of the given numbers, or of numbers above `above`."""
    changed = trial.c.last_event
    query = select(
        trial.c.id,
        trial.c.number,
        changed["final"].as_boolean().label("final"),
        cast(changed["ended_at"].as_string(), DateTime(timezone=True)).label("ended_at"),
    ).where(trial.c.experiment == experiment_id)
    query = query.where(trial.c.number > above if above is not None else trial.c.number.in_(numbers))
    return (await connection.execute(query.order_by(trial.c.number).limit(limit))).all()


async def load_best_trials(
    connection: AsyncConnection, experiment_id: UUID, smaller_is_better: bool, limit: int
) -> Sequence[Row[Any]]:
    """Load the best trials first; ties are ordered by number, trials without a value come last."""
    value = trial.c.best_value if smaller_is_better else -trial.c.best_value
    query = select(trial).where(trial.c.experiment == experiment_id)
    return (await connection.execute(query.order_by(value.nulls_last(), trial.c.number).limit(limit))).all()


async def load_runs(connection: AsyncConnection, trial_id: UUID, wanted: ListQuery) -> RowPage:
    return await load_part(connection, select(run).where(run.c.trial == trial_id), RUNS, wanted)
