"""From what a trial came to, to what a sampler is told of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from services.searcher.core.experiment.objectives import Objectives, Scored
from services.searcher.core.methods.port import RungDecision
from services.searcher.core.samplers import Observation, RungResult


@dataclass(frozen=True, slots=True)
class Reached:
    """The last result of a trial that a rung counted; `value` is smaller where better."""

    value: float
    time: float
    at_top: bool


def observation_of(objectives: Objectives, result: Scored | None, reached: Reached | None) -> Observation:
    """Return what a trial came to, None where it failed; what was judged on the way says how far it got.

    Of several metrics each tells for itself how good the trial was, however far it got.
    """
    if result is None:
        return Observation(None)
    value, *more = objectives.losses(result)
    excesses = objectives.excesses(result)
    if reached is not None and not reached.at_top and not more:
        return Observation(reached.value, reached.time, excesses=excesses)
    return Observation(value, others=tuple(more), excesses=excesses)


def rung_results_of(ruling: RungDecision, value: float) -> Iterator[RungResult]:
    """Yield what a trial had come to at each rung that counted its result; `value` is smaller where better."""
    for rung in ruling.rungs:
        yield RungResult(rung, value, goes_on=rung < ruling.rungs[-1] or ruling.decide_at is not None)
