"""Read a stored validation for a search: its metrics and time, or what is missing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster.config import Custom, ExperimentConfig, Timed
from services.searcher.core.experiment.objectives import Objectives, Others

NAMED = 8
"""Most metrics that a message lists by name."""
STEP = "step"
"""Value of `time_metric` that selects the step itself."""


@dataclass(frozen=True, slots=True)
class Result:
    """A stored validation. `number` counts the run's validations from 1. A stale validation reaches no rung."""

    trial: int
    run: int
    number: int
    step: int
    values: Mapping[str, float]
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The first metric, the time and the other values of a result. Metrics may be NaN or infinite, the time may not."""

    value: float
    time: float
    others: Others = field(default_factory=dict)


def read_result(config: ExperimentConfig, objectives: Objectives, result: Result) -> Reading | str:
    """Return what the search needs from `result`, or a message that names what is missing."""
    where = f"the validation of trial {result.trial} at step {result.step}"
    given = _listed(sorted(result.values))
    if (missing := objectives.missing(result.values)) is not None:
        return f"{missing} is missing from {where}, which reported {given}"
    name = time_metric(config)
    time = result.values.get(name, math.nan) if name else float(result.step)
    if not math.isfinite(time):
        return f"searcher.time_metric '{name}' is missing or not a finite number in {where}, which reported {given}"
    others = {name: result.values[name] for name in objectives.others}
    return Reading(result.values[config.searcher.metric], time, others)


def time_metric(config: ExperimentConfig) -> str | None:
    """Return the metric that counts a trial's time, or None if the step does."""
    searcher = config.searcher
    if isinstance(searcher, Timed | Custom) and searcher.time_metric != STEP:
        return searcher.time_metric
    return None


def _listed(names: Sequence[str]) -> str:
    left = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + left or "nothing"
