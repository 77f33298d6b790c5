"""Learning curves from earlier runs of the same code.

A trial follows one of the runs at the points nearest to its own, with their average step time. Beyond the end
of that run's curve it continues like the runs that went further. The times from grant to first step, and from
the last validation to the end, are drawn from all runs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TypeAlias

from pydantic import JsonValue

from muster.config import Double, ExperimentConfig, Int, Log, Parameter, Point, searched
from muster.config.conditions import has_value, value_at
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import time_metric

Path: TypeAlias = tuple[str, ...]

NEAREST = 3
NOISE = 0.01
"""Of a validation, relative to the range of the curves' ends: two trials that follow the same run differ slightly."""


@dataclass(frozen=True, slots=True)
class EarlierRunData:
    """An earlier run, in the units of the search's time.

    Attributes:
        times, values: Of its validations, in order; the values are finite.
        step_ms: With the slots that a trial has now.
        launch_ms: Time that it held its slots apart from its steps; None: it did not begin at the first step.
        is_whole: Whether it ended normally with all its work done.
    """

    point: Point
    times: tuple[float, ...]
    values: tuple[float, ...]
    step_ms: float
    launch_ms: float | None
    is_whole: bool

    @property
    def end(self) -> float:
        return self.times[-1]

    def value(self, time: float) -> float:
        """Return the metric at this time, interpolated between validations."""
        at = bisect_left(self.times, time)
        if at == 0:
            return self.values[0]
        if at == len(self.times):
            return self.values[-1]
        (t0, t1), (v0, v1) = self.times[at - 1 : at + 1], self.values[at - 1 : at + 1]
        return v0 + (v1 - v0) * (time - t0) / (t1 - t0)


@dataclass(frozen=True, slots=True)
class EarlierCurve:
    """The reports of one trial, its step time, and its other times. `steps`: after how many it ends; None: as
    configured by the experiment."""

    metric: str
    time_metric: str | None
    every: int
    step_ms: float
    launch_ms: int | None
    value: Callable[[int], float]
    others: Mapping[str, float]
    steps: int | None = None

    def time(self, step: int) -> float:
        """Return the search's time of this step."""
        return float(step)

    def values(self, step: int) -> dict[str, float]:
        """Return the validation at this step; a restarted run reports the same."""
        values = {**self.others, self.metric: self.value(step)}
        if self.time_metric is not None:
            values[self.time_metric] = self.time(step)
        return values


@dataclass(frozen=True, slots=True)
class Terms:
    """Parameters that are given instead of observed.

    Attributes:
        step_ms: Step time; None: as observed.
        pace: Factor on all durations, which differs between futures.
        is_length_known: Whether the training length is given. Otherwise each trial trains as long, with the
            same step time, as the run that it follows.
    """

    step_ms: float | None = None
    pace: float = 1.0
    is_length_known: bool = True


class Earlier:
    """Creates curves for points of a search space.

    Args:
        seen: At least one run; if the length is unknown, at least one whole run.
    """

    def __init__(
        self, config: ExperimentConfig, seen: Sequence[EarlierRunData], seed: int, terms: Terms = Terms()
    ) -> None:
        self._metric, self._time_metric = config.searcher.metric, time_metric(config)
        self._others = Objectives.of(config).others
        self._seen, self._seed, self._terms = seen, seed, terms
        self._whole = [one for one in seen if one.is_whole]
        self._axes = dict(searched(config.hyperparameters))
        self._launches = [one.launch_ms for one in seen if one.launch_ms is not None]
        last_values = [one.values[-1] for one in seen]
        self._apart = max(last_values) - min(last_values)

    def curve(self, point: Point, trial: int) -> EarlierCurve:
        """Return the curve of the trial with this number at this point."""
        chance = Random(f"{self._seed}/trial {trial}")
        known = self._seen if self._terms.is_length_known else self._whole
        near = sorted(known, key=lambda one: _distance(self._axes, point, one.point))[:NEAREST]
        like = chance.choice(near)
        return EarlierCurve(
            self._metric,
            self._time_metric,
            _every(like),
            step_ms=self._step_ms(near if self._terms.is_length_known else [like]) * self._terms.pace,
            launch_ms=round(chance.choice(self._launches) * self._terms.pace) if self._launches else None,
            value=lambda step: self._value(like, trial, step),
            others={name: chance.random() for name in self._others},
            steps=None if self._terms.is_length_known else max(1, round(like.end)),
        )

    def _step_ms(self, near: Sequence[EarlierRunData]) -> float:
        if self._terms.step_ms is not None:
            return self._terms.step_ms
        return math.exp(sum(math.log(max(one.step_ms, 0.01)) for one in near) / len(near))

    def _value(self, like: EarlierRunData, trial: int, step: int) -> float:
        noise = NOISE * self._apart * Random(f"{self._seed}/trial {trial}/{step}").gauss(0.0, 1.0)
        return like.value(step) + self._gained(like.end, step) + noise

    def _gained(self, since: float, until: float) -> float:
        """Return how much the runs that went further gained on average after the end of another."""
        if until <= since:
            return 0.0
        further = [one for one in self._seen if one.end > since]
        gains = [one.value(until) - one.value(since) for one in further]
        return sum(gains) / len(gains) if gains else 0.0


def length_of(seen: Sequence[EarlierRunData]) -> int | None:
    """Return the median length of the trials that were not stopped; None: there are none."""
    whole = [one.end for one in seen if one.is_whole]
    return max(1, round(median(whole))) if whole else None


def _every(like: EarlierRunData) -> int:
    between = [after - before for before, after in zip((0.0, *like.times), like.times, strict=False)]
    return max(1, round(median(between)))


def _distance(axes: Mapping[Path, Parameter], one: Point, other: Point) -> float:
    """Return the squared distance, with each hyperparameter scaled to 0..1. A hyperparameter that only one
    point has counts as the maximum distance."""
    paths = {*_paths(one), *_paths(other)}
    return sum(_apart(axes.get(path), path, one, other) ** 2 for path in paths)


def _paths(values: Mapping[str, JsonValue], above: Path = ()) -> Iterator[Path]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _paths(value, (*above, name))
        else:
            yield (*above, name)


def _apart(parameter: Parameter | None, path: Path, one: Point, other: Point) -> float:
    if not (has_value(one, path) and has_value(other, path)):
        return 1.0
    a, b = value_at(one, path), value_at(other, path)
    if a == b or not (isinstance(a, int | float) and isinstance(b, int | float)):
        return float(a != b)
    match parameter:
        case Log(base=base, minval=low, maxval=high) if a > 0 and b > 0:
            return min(1.0, abs(math.log(a / b, base)) / (high - low))
        case Int(minval=low, maxval=high) | Double(minval=low, maxval=high):
            return min(1.0, abs(a - b) / (high - low))
        case _:
            return min(1.0, abs(a - b) / max(abs(a), abs(b)))
