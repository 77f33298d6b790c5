"""Searches of every kind, and what may happen to their trials. A new method is a line of `METHODS`."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

from muster.config import ExperimentConfig
from services.searcher.core.experiment.entities import Outcome
from services.searcher.core.methods.custom import Operation, OperationKind
from tests.unit.searcher.world import World, adaptive, asha, config, hyperband, median, pbt, run_search

MAX_STEP = 20
MIXED: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64, "step": 8}},
}
GRID: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1, "count": 2},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "count": 2, "when": {"optimizer": "sgd"}},
    "net": {"width": 8},
}


AIMS: dict[str, Any] = {
    "metric": None,
    "smaller_is_better": None,
    "metrics": [{"name": "loss"}, {"name": "size", "smaller_is_better": False}],
    "limits": ["latency <= 0.7"],
}


@dataclass(frozen=True)
class Case:
    """A search: how many trials it makes in all, and how many at once; `program`: what is told of it at its beginning; `most`: of a search
    whose trials follow from its results, how many they may be."""

    searcher: dict[str, object]
    trials: int = 16
    concurrent: int = 4
    space: dict[str, object] | None = None
    program: tuple[Operation, ...] = ()
    most: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether there are no other points in the stead of invalid ones."""
        return self.searcher["name"] in ("single", "grid", "custom")

    def config(self) -> ExperimentConfig:
        return config(self.searcher, self.space or MIXED)

    def world(self) -> World:
        return World(self.config(), self.program)


STOP_REQUESTED = (
    *(Operation(OperationKind.CREATE, f"t{n}", until=5.0) for n in range(16)),
    Operation(OperationKind.SHUTDOWN),
)
WARM: dict[str, object] = {
    "points": [
        {"lr": 0.01, "optimizer": "sgd", "momentum": 0.3, "net": {"width": 16}},
        {"lr": 0.001, "optimizer": "adam", "net": {"width": 64}},
    ]
}
EARLY: dict[str, object] = {"name": "tpe", "startup_trials": 3}
"""It has a model as soon as three trials have reached the first rung."""
METHODS: dict[str, Case] = {
    "single": Case({"name": "single"}, 1, 1),
    "random": Case({"name": "random", "max_trials": 13, "max_concurrent_trials": 4}, 13),
    "random without limit": Case({"name": "random", "max_trials": 7, "max_concurrent_trials": 0}, 7, 7),
    "grid": Case({"name": "grid", "max_concurrent_trials": 2}, 6, 2, GRID),
    "async_halving": Case(asha()),
    "async_halving of one rung": Case(asha(rungs=1)),
    "async_halving without limit": Case(asha(concurrent=0), 16, 16),
    "adaptive_asha": Case(adaptive(max_time=16), 16, 5),
    "adaptive_asha conservative": Case(adaptive(max_time=16, max_trials=30, mode="conservative"), 30, 5),
    "adaptive_asha with one slot": Case(
        adaptive(max_time=16, max_trials=20, mode="conservative", concurrent=1), 20, 1
    ),
    "adaptive_asha of brackets": Case(adaptive(max_time=16, bracket_rungs=[1, 2, 2]), 16, 5),
    "async_halving by promotion": Case(asha(stop_once=False)),
    "async_halving by promotion, one at a time": Case(asha(stop_once=False, concurrent=1), 16, 1),
    "adaptive_asha by promotion": Case(adaptive(max_time=16, stop_once=False), 16, 5),
    "median_stopping": Case(median()),
    "custom": Case({"name": "custom", "max_concurrent_trials": 4}, program=STOP_REQUESTED),
    "custom with tpe": Case(
        {"name": "custom", "max_concurrent_trials": 4, "sampler": "tpe"}, program=STOP_REQUESTED
    ),
    "median_stopping of long intervals": Case(median(interval=5, grace_time=0)),
    "async_halving begun warm": Case(asha(warm_start=WARM, sampler="tpe")),
    "async_halving by promotion, begun warm": Case(asha(stop_once=False, warm_start=WARM)),
    "async_halving by promotion, with tpe": Case(asha(stop_once=False, sampler=EARLY)),
    "hyperband": Case(hyperband(), 17),
    "hyperband without limit": Case(hyperband(concurrent=0), 17, 17),
    "hyperband of long rungs": Case(hyperband(max_time=60, min_time=8, divisor=2.5, concurrent=3), 14, 3),
    "pbt": Case(pbt(), 5, 5, most=20),
    "pbt by turns": Case(pbt(concurrent=2), 5, 2, most=20),
    **{f"async_halving with {name}": Case(asha(sampler=name)) for name in ("quasi_random", "nsga2")},
    "async_halving with tpe": Case(asha(sampler=EARLY)),
    "median_stopping with tpe, two metrics and a limit": Case(median(sampler="tpe", **AIMS)),
    "async_halving with nsga2, two metrics and a limit": Case(asha(sampler="nsga2", **AIMS)),
}
LEARNING = tuple(name for name, case in METHODS.items() if "sampler" in case.searcher)
"""Searches whose samplers keep a model, or a sequence: only their journals give that back."""
BY_STOPPING = (
    "async_halving", "async_halving of one rung", "async_halving without limit",
    "adaptive_asha", "adaptive_asha conservative", "adaptive_asha with one slot",
    "async_halving with nsga2, two metrics and a limit",
)  # fmt: skip
BY_PROMOTION = (
    "async_halving by promotion", "async_halving by promotion, one at a time", "adaptive_asha by promotion",
)  # fmt: skip

every_method = pytest.mark.parametrize("name", METHODS)


@dataclass(frozen=True)
class Story:
    """What happens: the order of events, trials that end early and how, and those whose loss is no number."""

    seed: int
    fates: Mapping[int, Outcome]
    lost: frozenset[int]

    def loss(self, trial: int, step: int) -> float:
        return math.nan if trial in self.lost else math.sin(trial * 12.9898 + self.seed) + 1 / step

    def happen(self, world: World, between: Callable[[World], object] = lambda world: None) -> World:
        run_search(
            world, self.loss, chaos=random.Random(self.seed), max_step=MAX_STEP, fates=self.fates,
            restarts=0.02, saves_every=2 * (world.config.searcher.name == "pbt"), between=between,
        )  # fmt: skip
        return world


NUMBERS = st.integers(1, 20)
ENDS: tuple[Outcome, ...] = ("failed", "completed", "cancelled", "invalid")
STORIES = st.builds(
    Story,
    st.integers(0, 10**6),
    st.dictionaries(NUMBERS, st.sampled_from(ENDS), max_size=5),
    st.frozensets(NUMBERS),
)
CHANCE = st.builds(random.Random, st.integers(0, 10**6))
