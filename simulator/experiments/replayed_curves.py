"""How the trials of an experiment would learn, as earlier trials of the same code did: what a run was seen to do, and curves made of that.

A trial goes as one of the runs at the points nearest to its own did, with a step as long as theirs on average. Beyond a curve's end it goes
on as those did that went further. What lies between grant and first step, and between the last validation and the end, is drawn from all.
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
"""Of a validation, against how far the ends of all curves lie apart: two trials that go as the same run did differ a little."""


@dataclass(frozen=True, slots=True)
class EarlierRunData:
    """An earlier run, in the units of the search's time.

    Attributes:
        times, values: Of its validations, in order; the values are finite.
        step_ms: With the slots that a trial has now.
        launch_ms: What it had its slots for beside its steps; None: it did not begin at the first step.
        is_whole: Whether it ended by itself, with all its work done.
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
        """Between two validations on the straight line, before the first as the first."""
        place = bisect_left(self.times, time)
        if place == 0:
            return self.values[0]
        if place == len(self.times):
            return self.values[-1]
        (t0, t1), (v0, v1) = self.times[place - 1 : place + 1], self.values[place - 1 : place + 1]
        return v0 + (v1 - v0) * (time - t0) / (t1 - t0)


@dataclass(frozen=True, slots=True)
class EarlierCurve:
    """What one trial reports, how long its steps take, and how long it takes beside them. `steps`: it ends by itself after so many; None: as
    the experiment says."""

    metric: str
    time_metric: str | None
    every: int
    step_ms: float
    launch_ms: int | None
    value: Callable[[int], float]
    others: Mapping[str, float]
    steps: int | None = None

    def time(self, step: int) -> float:
        """What the search counts as the time of this step."""
        return float(step)

    def values(self, step: int) -> dict[str, float]:
        """The validation at this step; a restarted run reports the same there."""
        values = {**self.others, self.metric: self.value(step)}
        if self.time_metric is not None:
            values[self.time_metric] = self.time(step)
        return values


@dataclass(frozen=True, slots=True)
class Terms:
    """What is said beside what was seen.

    Attributes:
        step_ms: What a step takes; None: as it was.
        pace: All takes so many times as long: no two days are alike.
        is_length_known: Whether it is said how long a trial trains; else each trains as long, in steps as long, as the run that it goes as.
    """

    step_ms: float | None = None
    pace: float = 1.0
    is_length_known: bool = True


class Earlier:
    """Makes curves for points of a search space.

    Args:
        seen: At least one; where the length is not known, one that is whole.
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
        ends = [one.values[-1] for one in seen]
        self._apart = max(ends) - min(ends)

    def curve(self, point: Point, trial: int) -> EarlierCurve:
        """How the trial of this number, at this point, goes."""
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
        """What runs that went further gained on average beyond the end of another."""
        if until <= since:
            return 0.0
        further = [one for one in self._seen if one.end > since]
        gains = [one.value(until) - one.value(since) for one in further]
        return sum(gains) / len(gains) if gains else 0.0


def length_of(seen: Sequence[EarlierRunData]) -> int | None:
    """How long a trial trained that was not stopped; None: there was none."""
    whole = [one.end for one in seen if one.is_whole]
    return max(1, round(median(whole))) if whole else None


def _every(like: EarlierRunData) -> int:
    between = [after - before for before, after in zip((0.0, *like.times), like.times, strict=False)]
    return max(1, round(median(between)))


def _distance(axes: Mapping[Path, Parameter], one: Point, other: Point) -> float:
    """Squared, each hyperparameter from 0 to 1; one that only one of them has counts as far as can be."""
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
