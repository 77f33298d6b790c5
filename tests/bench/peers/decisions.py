"""The peers' decision classes on the bench's simulated cluster: one line of JSON for each run, as it ends. Runs in the peers' own venv.

`decisions.py METHOD SLOTS FIRST COUNT`: METHOD is a key of `METHODS`. Every class has its library's defaults, but for the ones that the bench gives to all
that have them: 81 epochs at most, the first decision after epoch 1, and one in 3 goes on.
"""

import datetime as dt
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.bench.quality.cluster import Start, Verdict, print_runs
from tests.bench.quality.table import EPOCHS, FREE, ROWS, SIZES

DIVISOR = 3
BEGAN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Counted:
    """At most as many trials as the table has rows, numbered from 1."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}

    def propose(self, number: int) -> tuple[Any, dict[str, Any]]:
        """The library's trial of that number, and its point."""
        raise NotImplementedError

    def ask(self) -> Start | None:
        number = len(self.made) + 1
        if number > ROWS:
            return None
        self.made[number], point = self.propose(number)
        return Start(number, point)


class Optuna(Counted):
    """`TPESampler` with a pruner of Optuna's."""

    def __init__(self, seed: int, pruner: str) -> None:
        super().__init__()
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        self.pruned: set[int] = set()
        pruners: dict[str, Callable[[], Any]] = {
            "median": optuna.pruners.MedianPruner,
            "hyperband": lambda: optuna.pruners.HyperbandPruner(1, EPOCHS, DIVISOR),
        }
        self.study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=pruners[pruner](),
        )
        self.latest: dict[int, Any] = {}

    def propose(self, number: int) -> tuple[Any, dict[str, Any]]:
        trial = self.study.ask()
        point = {name: trial.suggest_float(name, 0.0, 1.0) for name in FREE}
        return trial, point | {"batch_size": trial.suggest_int("batch_size", 0, SIZES - 1)}

    def report(self, number: int, epoch: int, accuracy: float) -> Verdict:
        self.latest[number] = accuracy
        self.made[number].report(accuracy, epoch)
        if epoch < EPOCHS and self.made[number].should_prune():
            self.pruned.add(number)
            return "stop"
        return "go on"

    def leave(self, number: int, is_paused: bool) -> None:
        trial = self.made[number]
        if number in self.pruned:
            self.study.tell(trial, state=self.optuna.trial.TrialState.PRUNED)
        else:
            self.study.tell(trial, self.latest[number])


class RayAsha(Counted):
    """`ASHAScheduler` under random search."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        from ray.tune.schedulers import ASHAScheduler

        self.generator = np.random.default_rng(seed)
        self.scheduler = ASHAScheduler(
            time_attr="epoch", metric="accuracy", mode="max", max_t=EPOCHS, reduction_factor=DIVISOR
        )
        self.latest: dict[int, Any] = {}

    def propose(self, number: int) -> tuple[Any, dict[str, Any]]:
        trial = SimpleNamespace(trial_id=str(number))
        self.scheduler.on_trial_add(None, trial)
        point = {name: float(self.generator.random()) for name in FREE}
        return trial, point | {"batch_size": int(self.generator.integers(SIZES))}

    def report(self, number: int, epoch: int, accuracy: float) -> Verdict:
        self.latest[number] = {"epoch": epoch, "accuracy": accuracy}
        verdict = self.scheduler.on_trial_result(None, self.made[number], self.latest[number])
        return "stop" if verdict == "STOP" else "go on"

    def leave(self, number: int, is_paused: bool) -> None:
        if self.latest[number]["epoch"] < EPOCHS:
            self.scheduler.on_trial_remove(None, self.made[number])
        else:
            self.scheduler.on_trial_complete(None, self.made[number], self.latest[number])


class SyneTune(Counted):
    """`ASHA` or `BOHB` of `syne_tune.optimizer.baselines`."""

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__()
        from syne_tune.backend.trial_status import Trial
        from syne_tune.config_space import randint, uniform
        from syne_tune.optimizer import baselines

        self.trial = Trial
        space = {name: uniform(0.0, 1.0) for name in FREE} | {"batch_size": randint(0, SIZES - 1)}
        self.scheduler = getattr(baselines, kind)(
            space,
            metric="accuracy",
            time_attr="epoch",
            max_t=EPOCHS,
            reduction_factor=DIVISOR,
            do_minimize=False,
            random_seed=seed,
        )

    def propose(self, number: int) -> tuple[Any, dict[str, Any]]:
        trial = self.trial(number, self.scheduler.suggest().config, BEGAN)
        self.scheduler.on_trial_add(trial)
        return trial, trial.config

    def report(self, number: int, epoch: int, accuracy: float) -> Verdict:
        verdict = self.scheduler.on_trial_result(self.made[number], {"epoch": epoch, "accuracy": accuracy})
        return "stop" if verdict == "STOP" else "go on"

    def leave(self, number: int, is_paused: bool) -> None:
        self.scheduler.on_trial_remove(self.made[number])


METHODS: dict[str, Callable[[int], Any]] = {
    "Optuna TPE, median": lambda seed: Optuna(seed, "median"),
    "Optuna TPE, hyperband": lambda seed: Optuna(seed, "hyperband"),
    "Ray Tune ASHA": RayAsha,
    "syne-tune ASHA": lambda seed: SyneTune(seed, "ASHA"),
    "syne-tune BOHB": lambda seed: SyneTune(seed, "BOHB"),
}


def main(method: str, slots: int, seeds: range) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)

    def make(seed: int) -> Any:
        np.random.seed(seed)  # Ray Tune and syne-tune also draw from numpy's own generator.
        return METHODS[method](seed)

    print_runs(make, slots, seeds)


if __name__ == "__main__":
    first = int(sys.argv[3])
    main(sys.argv[1], int(sys.argv[2]), range(first, first + int(sys.argv[4])))
