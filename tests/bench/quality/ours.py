"""Our searches on the simulated cluster: the searcher's own core, from a config as people write it.

`python -m tests.bench.quality.ours METHOD SLOTS FIRST COUNT` prints a line of JSON for each of the seeds; METHOD is a key of `METHODS`, or one
and `PERFECT`.
"""

import sys
from collections import deque
from collections.abc import Mapping

from pydantic import JsonValue

from muster.config import Point, load_config
from services.searcher.core.experiment.objectives import Scores
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.search.actions import SearchActions
from services.searcher.core.search.search import Search
from tests.bench.quality.cluster import GoOn, Start, Verdict, print_runs
from tests.bench.quality.table import EPOCHS, FREE, ROWS, SIZES

DIVISOR = 3
"""81 epochs are 3^4: every class that halves, ours and the peers', divides by it."""
MANY: Mapping[str, JsonValue] = {"max_trials": ROWS}
TIMED: Mapping[str, JsonValue] = {"time_metric": "epochs", "max_time": EPOCHS}
HALVING: Mapping[str, JsonValue] = {"divisor": DIVISOR, **MANY, **TIMED}
METHODS: Mapping[str, Mapping[str, JsonValue]] = {
    "random": {"name": "random", **MANY},
    "random, tpe": {"name": "random", "sampler": "tpe", **MANY},
    "median_stopping": {"name": "median_stopping", **MANY, **TIMED},
    "async_halving": {"name": "async_halving", "num_rungs": 5, **HALVING},
    "async_halving, promoting": {"name": "async_halving", "num_rungs": 5, "stop_once": False, **HALVING},
    "adaptive_asha": {"name": "adaptive_asha", **HALVING},
    "adaptive_asha, promoting": {"name": "adaptive_asha", "stop_once": False, **HALVING},
    "hyperband": {"name": "hyperband", "divisor": DIVISOR, **TIMED},
    "adaptive_asha, tpe": {"name": "adaptive_asha", "sampler": "tpe", **HALVING},
    "adaptive_asha, promoting, tpe": {
        "name": "adaptive_asha",
        "sampler": "tpe",
        "stop_once": False,
        **HALVING,
    },
}
"""All but `pbt`, whose trials change on their way: no row of the table is such a trial. `hyperband` makes the 143 trials of its brackets."""
LADDERS = ("async_halving", "async_halving, promoting", "adaptive_asha", "adaptive_asha, promoting")
PERFECT = ", ranked perfectly"
SPACE: Mapping[str, JsonValue] = {
    **{name: {"type": "double", "minval": 0.0, "maxval": 1.0} for name in FREE},
    "batch_size": {"type": "int", "minval": 0, "maxval": SIZES - 1},
}


class Ours:
    """A search of `slots` trials at once."""

    def __init__(self, searcher: Mapping[str, JsonValue], slots: int, seed: int) -> None:
        config = load_config(
            {
                "entrypoint": "true",
                "hyperparameters": dict(SPACE),
                "searcher": {
                    **searcher,
                    "metric": "accuracy",
                    "smaller_is_better": False,
                    "max_concurrent_trials": slots,
                },
            }
        )
        self._search = Search(config, seed)
        self._steps: deque[Start | GoOn] = deque()
        self._decide_at: dict[int, float | None] = {}
        self._best: dict[int, float] = {}
        self._take(self._search.start())

    def ask(self) -> Start | GoOn | None:
        return self._steps.popleft() if self._steps else None

    def report(self, trial: int, epoch: int, accuracy: float) -> Verdict:
        """Judge at decisions alone, as a turn of the service does."""
        self._best[trial] = max(accuracy, self._best.get(trial, 0.0))
        due = self._decide_at[trial]
        if due is None or epoch < due:
            return "go on"
        decision = self._search.judge(trial, accuracy, epoch)
        self._decide_at[trial] = decision.decide_at
        return "pause" if decision.pause else "stop" if decision.stop else "go on"

    def leave(self, trial: int, is_paused: bool) -> None:
        """Tell what a trial came to, then fill its place: so it goes in the service when all of its reports have arrived."""
        if is_paused:
            self._take(self._search.on_parked(trial))
            return
        if self._search.learns:
            self._search.observe(trial, Scores(self._best[trial]))
        self._take(self._search.on_ended(trial, TrialEnding.FINISHED))

    def _take(self, actions: SearchActions) -> None:
        for made in actions.created:
            self._decide_at[made.number] = made.decide_at
            self._steps.append(Start(made.number, _coordinates(made.point)))
        for step in actions.resumed:
            self._decide_at[step.trial] = step.decide_at
            self._steps.append(GoOn(step.trial))


def _coordinates(point: Point) -> dict[str, float]:
    return {name: float(str(value)) for name, value in point.items()}


def main(method: str, slots: int, seeds: range) -> None:
    searcher = METHODS[method.removesuffix(PERFECT)]
    print_runs(lambda seed: Ours(searcher, slots, seed), slots, seeds, method.endswith(PERFECT))


if __name__ == "__main__":
    first = int(sys.argv[3])
    main(sys.argv[1], int(sys.argv[2]), range(first, first + int(sys.argv[4])))
