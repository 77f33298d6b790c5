"""How the trials of a simulated experiment learn: one curve for each point of its search space, drawn from a seed.

A point is good where it is near a best point that the seed hides in the space. The metric falls (or rises) from `first` towards the
point's own end by half in each `halves_after` steps; how fast depends on the point too, so that curves cross and early results mislead
a little, as real ones do. Further metrics of a search are as chance has it, and the same throughout a trial. Equal seeds and points
have equal curves.
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
    """What the trials of an experiment have in common.

    Attributes:
        steps: A trial ends by itself after so many; a step is what the config's `time_metric` counts.
        step_ms: A step with the slots that the config asks for.
        spread: Standard deviation of the logarithm of the trials' step times.
        validate_every: Steps between two validations; the last step is always validated.
        first: The metric of an untrained model; `best` and `worst`: where the best and the worst point end.
        halves_after: Steps in which half of the way to the end is made.
        noise: Standard deviation of what is added to each validation.
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
    """What one trial reports, and how long its steps take."""

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
    """These two None: as the submission says."""

    @property
    def every(self) -> int:
        return self.learning.validate_every

    def time(self, step: int) -> float:
        """What the search counts as the time of this step."""
        return float(step)

    def values(self, step: int) -> dict[str, float]:
        """The validation at this step; a restarted run reports the same there."""
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
        """How the trial of this number, at this point, learns."""
        places = [(axis, axis.place(point)) for axis in self._axes if has_value(point, axis.path)]
        missed = math.sqrt(
            sum(axis.weight * (at - axis.best) ** 2 for axis, at in places)
            / sum(axis.weight * axis.farthest**2 for axis in self._axes)
            if places
            else 0.0
        )
        slowness = sum(axis.slope * (at - 0.5) for axis, at in places) / max(1, len(places))
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
    """One hyperparameter, as a coordinate from 0 to 1; where it takes no part, it is neither good nor bad."""

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
                raise Broken(f"{value!r} is no value of {'.'.join(self.path)}")
