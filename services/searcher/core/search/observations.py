"""Convert results of trials to observations for samplers."""

from collections.abc import Iterator
from dataclasses import dataclass

from services.searcher.core.experiment.objectives import Objectives, Scored
from services.searcher.core.methods.interface import RungDecision
from services.searcher.core.samplers import Observation, RungResult


@dataclass(frozen=True, slots=True)
class Reached:
    """The last result of a trial that a rung counted; `value` is smaller where better."""

    value: float
    time: float
    reached_max_time: bool


def observation_of(objectives: Objectives, result: Scored | None, reached: Reached | None) -> Observation:
    """Return the observation of a trial's result, None if it failed.

    `reached` is the last result that a rung counted. With several metrics, the result counts as final however far the
    trial got.
    """
    if result is None:
        return Observation(None)
    value, *more = objectives.losses(result)
    excesses = objectives.excesses(result)
    if reached is not None and not reached.reached_max_time and not more:
        return Observation(reached.value, reached.time, excesses=excesses)
    return Observation(value, others=tuple(more), excesses=excesses)


def rung_results_of(decision: RungDecision, value: float) -> Iterator[RungResult]:
    """Yield the trial's result at each rung that counted it; `value` is smaller where better."""
    for rung in decision.rungs:
        yield RungResult(rung, value, continues=rung < decision.rungs[-1] or decision.decide_at is not None)
