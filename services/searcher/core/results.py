"""What a stored validation means to a search: the metric, the time, or what is missing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.config import ExperimentConfig, Timed

NAMED = 8
"""So many metrics are named in a sentence."""
STEP = "step"
"""As `time_metric`: the step itself."""


@dataclass(frozen=True, slots=True)
class Result:
    """A stored validation; `number` counts the run's validations from 1. A stale one is no rung's business."""

    trial: int
    run: int
    number: int
    step: int
    values: Mapping[str, float]
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The metric and the time of a result; the metric may be NaN or infinite, the time may not."""

    value: float
    time: float


def read_result(config: ExperimentConfig, result: Result) -> Reading | str:
    """Return what the search needs of `result`, or a sentence that says what is missing."""
    metric = config.searcher.metric
    where = f"the validation of trial {result.trial} at step {result.step}"
    given = _listed(sorted(result.values))
    if metric not in result.values:
        return f"searcher.metric '{metric}' is missing in {where}, which reported {given}"
    name = time_metric(config)
    time = result.values.get(name, math.nan) if name else float(result.step)
    if not math.isfinite(time):
        return f"searcher.time_metric '{name}' is missing or no number in {where}, which reported {given}"
    return Reading(result.values[metric], time)


def time_metric(config: ExperimentConfig) -> str | None:
    """Return the metric that counts a trial's time, or None where the step itself does."""
    searcher = config.searcher
    if isinstance(searcher, Timed) and searcher.time_metric != STEP:
        return searcher.time_metric
    return None


def is_better(config: ExperimentConfig, value: float, than: float | None) -> bool:
    """Return whether `value` beats `than` (None: anything finite does)."""
    if not math.isfinite(value):
        return False
    if than is None:
        return True
    return value < than if config.searcher.smaller_is_better else value > than


def _listed(names: Sequence[str]) -> str:
    left = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + left or "nothing"
