"""Synthetic learning curves: one for each point of a search space, drawn from a seed.

A point is good if it is near a best point that the seed determines. The metric moves from `first` towards the
point's own end, halving the distance every `halves_after` steps. The speed also depends on the point, so that
curves cross and early results are slightly misleading, as in practice. Other metrics of a search are random and
constant throughout a trial. Equal seeds and points give equal curves.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from muster.config import Categorical, Double, ExperimentConfig, Int, Log, Parameter, Point, searched
from muster.config.conditions import has_value, value_at
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import time_metric
from shared.errors import Broken


@dataclass(frozen=True, slots=True)
class Learning:
    """Properties that the trials of an experiment share.

    Attributes:
        steps: A trial ends after this many; a step is one unit of the config's `time_metric`.
        step_ms: Step time with the slots that the config requests.
        spread: Standard deviation of the logarithm of the trials' step times.
        validate_every: Steps between two validations; the last step is always validated.
        first: The metric of an untrained model. `best` and `worst`: the final metric at the best and the worst point.
        halves_after: Steps in which the distance to the final metric halves.
        noise: Standard deviation of the noise of a validation.
    """

    steps: int
    step_ms: float = 1000.0
    spread: float = 0.0
    validate_every: int = 1
    first: float = 1.0
    best: float = 0.0
    worst: float = 0.5
    halves_after: float = 10.0
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Curve:
    """The reports of one trial, and its step time."""

    learning: Learning
    seed: str
    metric: str
    time_metric: str | None
    end: float
    halves_after: float
    step_ms: float
    others: Mapping[str, float] = field(default_factory=dict)
    launch_ms: int | None = None
    steps: int | None = None
    """For these two None means: as in the submission."""

    @property
    def every(self) -> int:
        return self.learning.validate_every

    def time(self, step: int) -> float:
        """Return the search's time of this step."""
        return float(step)

    def values(self, step: int) -> dict[str, float]:
        """Return the validation at this step; a restarted run reports the same."""
        way_left = (self.learning.first - self.end) * 2.0 ** (-step / self.halves_after)
        noise = self.learning.noise * Random(f"{self.seed}/{step}").gauss(0.0, 1.0)
        values = {**self.others, self.metric: self.end + way_left + noise}
        if self.time_metric is not None:
            values[self.time_metric] = self.time(step)
        return values


@dataclass(slots=True)
class Landscape:
    """Which points of a search space are good, and which learn fast."""

    config: ExperimentConfig
    learning: Learning
    seed: int
    _axes: list["_Axis"] = field(init=False)

    def __post_init__(self) -> None:
        self._axes = [
            _Axis(path, parameter, Random(f"{self.seed}/{'/'.join(path)}"))
            for path, parameter in searched(self.config.hyperparameters)
        ]

    def curve(self, point: Point, trial: int) -> Curve:
        """Return the curve of the trial with this number at this point."""
        coordinates = [(axis, axis.place(point)) for axis in self._axes if has_value(point, axis.path)]
        missed = math.sqrt(
            sum(axis.weight * (at - axis.best) ** 2 for axis, at in coordinates)
            / sum(axis.weight * axis.farthest**2 for axis in self._axes)
            if coordinates
            else 0.0
        )
        slowness = sum(axis.slope * (at - 0.5) for axis, at in coordinates) / max(1, len(coordinates))
        learning, seed = self.learning, f"{self.seed}/trial {trial}"
        return Curve(
            learning,
            seed,
            self.config.searcher.metric,
            time_metric(self.config),
            end=learning.best + (learning.worst - learning.best) * missed,
            halves_after=learning.halves_after * 2.0**slowness,
            step_ms=learning.step_ms * math.exp(learning.spread * Random(seed).gauss(0.0, 1.0)),
            others={name: Random(f"{seed}/{name}").random() for name in Objectives.of(self.config).others},
        )


class _Axis:
    """One hyperparameter as a coordinate from 0 to 1. A hyperparameter that a point lacks has no effect."""

    def __init__(self, path: tuple[str, ...], parameter: Parameter, chance: Random) -> None:
        self.path, self._parameter = path, parameter
        self.best = chance.random()
        self.weight = 0.1 + chance.random()
        self.slope = chance.uniform(-2.0, 2.0)
        self.farthest = max(self.best, 1 - self.best)
        self._ranks = list(range(len(parameter.vals))) if isinstance(parameter, Categorical) else []
        chance.shuffle(self._ranks)

    def place(self, point: Point) -> float:
        value = value_at(point, self.path)
        match self._parameter:
            case Categorical(vals=vals):
                return self._ranks[vals.index(value)] / max(1, len(vals) - 1)
            case Log(base=base, minval=low, maxval=high) if isinstance(value, int | float):
                return (math.log(value, base) - low) / (high - low)
            case Int(minval=low, maxval=high) | Double(minval=low, maxval=high) if isinstance(
                value, int | float
            ):
                return (value - low) / (high - low)
            case _:
                raise Broken(f"{value!r} is not a value of {'.'.join(self.path)}")
