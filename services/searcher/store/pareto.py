"""Read the results that a Pareto front is computed from, and the displayed fields of its trials."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.config import Point
from services.searcher.core.experiment.entities import ScoredValidation
from services.searcher.core.experiment.states import TrialState
from services.searcher.store import rows
from services.searcher.store.tables import experiment, trial
from shared.ids import ExperimentId, TrialId


@dataclass(frozen=True, slots=True)
class Results:
    """An experiment's config, and each trial's best result that meets the limits."""

    config: dict[str, JsonValue]
    bests: dict[int, ScoredValidation]


@dataclass(frozen=True, slots=True)
class ParetoTrialDetails:
    """Displayed fields of a trial on the front, besides its result."""

    id: TrialId
    state: TrialState
    point: Point


async def load_results(connection: AsyncConnection, experiment_id: ExperimentId) -> Results | None:
    """Return the inputs of the Pareto front; None if the tenant has no such experiment."""
    config = await connection.scalar(select(experiment.c.config).where(experiment.c.id == experiment_id))
    return None if config is None else Results(config, await load_bests(connection, experiment_id))


async def load_bests(connection: AsyncConnection, experiment_id: ExperimentId) -> dict[int, ScoredValidation]:
    """Return each valid trial's best result that meets the limits."""
    found = await connection.execute(
        select(trial.c.number, trial.c.best_step, trial.c.best_value, trial.c.best_others).where(
            trial.c.experiment == experiment_id,
            trial.c.best_step.is_not(None),
            trial.c.state != TrialState.INVALID.value,
        )
    )
    marks = {row.number: rows.to_mark(row.best_step, row.best_value, row.best_others) for row in found}
    return {number: mark for number, mark in marks.items() if mark is not None}


async def load_pareto_trials(
    connection: AsyncConnection, experiment_id: ExperimentId, numbers: Sequence[int]
) -> dict[int, ParetoTrialDetails]:
    """Return these trials by their numbers."""
    found = await connection.execute(
        select(trial.c.number, trial.c.id, trial.c.state, trial.c.point).where(
            trial.c.experiment == experiment_id, trial.c.number.in_(numbers)
        )
    )
    return {
        row.number: ParetoTrialDetails(TrialId(row.id), TrialState(row.state), row.point) for row in found
    }
