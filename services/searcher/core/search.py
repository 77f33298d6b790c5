"""One experiment's search: a fold over its journal, which hands out trials as concurrency allows.

`Search` is the mutable index that the events of `journal.py` advance. It holds no trial's parameters:
trial n's point follows from config, seed and n alone.
"""

import math
from collections import deque
from dataclasses import dataclass

from muster.config import AdaptiveAsha, AsyncHalving, ExperimentConfig, Grid, Single
from services.searcher.core.asha import Bracket, Tournament
from services.searcher.core.halving import initial_trials, plan_brackets, rung_targets
from services.searcher.core.independent import Independent
from services.searcher.core.method import Branch, Ending, Ruling, SearchMethod
from services.searcher.core.sampling import GridPoints, Point, Stream, sample


@dataclass(frozen=True, slots=True)
class Proposal:
    """A trial to be made and wanted now."""

    number: int
    point: Point
    seed: int
    decide_at: float | None


class Search:
    """What to try next, judged by one `SearchMethod`; trials are numbered from 1 in order of creation.

    A trial is open from its proposal until `on_ended`; never more than `max_concurrent_trials` are open.
    """

    def __init__(self, config: ExperimentConfig, seed: int) -> None:
        self._config = config
        self._points = Points(config, seed)
        self._method = make_method(config)
        self._limit = _concurrency(config)
        self._waiting: deque[Branch] = deque()
        self._open: set[int] = set()
        self._created = 0
        self._is_active = True

    @property
    def is_exhausted(self) -> bool:
        """Whether no trial is open and none will be made."""
        return not self._open and not self._waiting

    @property
    def created(self) -> int:
        return self._created

    def start(self) -> list[Proposal]:
        """Return the first trials."""
        self._waiting.extend(self._method.plan_start())
        return self._filled()

    def on_result(self, trial: int, value: float, time: float) -> Ruling:
        """Judge a result; `value` is raw: its sign follows from the config, and not finite ranks worst."""
        return self._method.on_result(trial, self._ranked(value), time)

    def on_ended(self, trial: int, ending: Ending) -> list[Proposal]:
        """Take in that a trial's request closed for good; return the trials that take its place."""
        self._open.remove(trial)
        self._waiting.extend(self._method.on_ended(trial, ending))
        return self._filled()

    def pause(self) -> None:
        """Make no trials until `resume`."""
        self._is_active = False

    def resume(self) -> list[Proposal]:
        """Make trials again; return those that fit now."""
        self._is_active = True
        return self._filled()

    def progress(self) -> float:
        return self._method.progress()

    def planned(self) -> int:
        return self._method.planned()

    def _filled(self) -> list[Proposal]:
        proposals: list[Proposal] = []
        while self._is_active and self._waiting and len(self._open) < self._limit:
            proposals.append(self._proposed(self._waiting.popleft()))
        return proposals

    def _proposed(self, branch: Branch) -> Proposal:
        self._created += 1
        self._open.add(self._created)
        decide_at = self._method.on_created(self._created, branch)
        point, seed = self._points.of(self._created)
        return Proposal(self._created, point, seed, decide_at)

    def _ranked(self, value: float) -> float:
        if not math.isfinite(value):
            return math.inf
        return value if self._config.searcher.smaller_is_better else -value


class Points:
    """Trial n's hyperparameters and seed, for any n; a grid is walked from its last point backwards."""

    def __init__(self, config: ExperimentConfig, seed: int) -> None:
        self._space = config.hyperparameters
        self._seed = seed
        self._grid = GridPoints(self._space) if isinstance(config.searcher, Grid) else None

    def of(self, trial: int) -> tuple[Point, int]:
        stream = Stream(self._seed, trial)
        own_seed = stream.seed()
        if self._grid is not None:
            return self._grid[len(self._grid) - trial], own_seed
        return sample(self._space, stream), own_seed


def make_method(config: ExperimentConfig) -> SearchMethod:
    """Return the method that the config names, at its beginning."""
    searcher = config.searcher
    if isinstance(searcher, Single):
        return Independent(total=1, initial=1)
    concurrent = searcher.max_concurrent_trials
    if isinstance(searcher, AsyncHalving):
        targets = rung_targets(searcher.max_time, searcher.divisor, searcher.num_rungs)
        initial = initial_trials(searcher.max_trials, concurrent, searcher.divisor, searcher.num_rungs)
        return Bracket(targets, searcher.max_trials, initial, searcher.divisor)
    if isinstance(searcher, AdaptiveAsha):
        return _tournament(searcher)
    total = len(GridPoints(config.hyperparameters)) if isinstance(searcher, Grid) else searcher.max_trials
    return Independent(total, initial=concurrent or total)


def _tournament(searcher: AdaptiveAsha) -> Tournament:
    brackets = []
    for size in plan_brackets(searcher):
        targets = rung_targets(searcher.max_time, searcher.divisor, size.rungs)
        brackets.append(Bracket(targets, size.max_trials, size.initial, searcher.divisor))
    return Tournament(brackets)


def _concurrency(config: ExperimentConfig) -> float:
    if isinstance(config.searcher, Single):
        return 1
    return config.searcher.max_concurrent_trials or math.inf
