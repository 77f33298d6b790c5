"""How far a plan is from what really happens: three searches of the digits example on two slots, planned before their code has ever run, with
a step time that somebody guesses, then run; and planned again from those runs for another seed, and run with that.

The clock runs from the request to the experiment's terminal state, as the plan has it. Each search has code of its own: one file more.
"""

import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from muster.client.models import JsonObject, Plan
from tests.bench.embedded import ROOT, Platform, platform
from tests.bench.harness import Figures, Report, run

DIGITS = ROOT / "examples" / "digits" / "train.py"
SLOTS = 2
SEEDS = (11, 12)
"""Of the run that is planned without any knowledge, and of the one that is planned from it."""
GUESSED_S = 0.3
"""Of an epoch, as one who has never run it would say."""
EPOCHS = 9
LOOK_S, TIMEOUT_S = 0.1, 600.0
SPACE: JsonObject = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1.5},
    "width": {"type": "categorical", "vals": [8, 16, 24]},
    "dropout": {"type": "double", "minval": 0.0, "maxval": 0.5},
    "batch_size": {"type": "categorical", "vals": [32, 64, 128]},
    "weight_decay": 1e-4,
    "epochs": EPOCHS,
}
HALVED: JsonObject = {
    "time_metric": "epochs",
    "max_time": EPOCHS,
    "divisor": 3,
    "max_concurrent_trials": SLOTS,
}
SEARCHES: dict[str, JsonObject] = {
    "random": {"name": "random", "max_trials": 6, "max_concurrent_trials": SLOTS},
    "promotion": {"name": "async_halving", "max_trials": 12, "num_rungs": 3, "stop_once": False, **HALVED},
    "asha": {"name": "adaptive_asha", "max_trials": 16, **HALVED},
}


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and how long it really took."""

    plan: Plan
    real_s: float
    real_epochs: float

    @property
    def planned_s(self) -> float:
        assert self.plan.took_s is not None
        return self.plan.took_s.middle

    @property
    def error(self) -> float:
        """The difference in parts of the truth."""
        return abs(self.planned_s - self.real_s) / self.real_s

    @property
    def is_within(self) -> bool:
        assert self.plan.took_s is not None
        return self.plan.took_s.low <= self.real_s <= self.plan.took_s.high

    def cells(self) -> dict[str, float]:
        counted = {"planned_epochs": self.plan.steps.middle} if self.plan.unit == "epochs" else {}
        times = {"planned_s": self.planned_s, "real_s": self.real_s, "error": self.error}
        return {**times, "in_range": self.is_within, **counted, "real_epochs": self.real_epochs}


def measure(report: Report) -> Figures:
    report.inputs(slots=SLOTS, epochs=EPOCHS, guessed_step_s=GUESSED_S, seeds=SEEDS, searches=list(SEARCHES))
    first: dict[str, Case] = {}
    second: dict[str, Case] = {}
    with platform(workers=SLOTS) as bench:
        for name, searcher in SEARCHES.items():
            with tempfile.TemporaryDirectory() as folder:
                code = _code(Path(folder), name)
                first[name] = _case(bench, code, searcher, SEEDS[0], is_guessed=True)
                _await_reports(bench, code, searcher)
                second[name] = _case(bench, code, searcher, SEEDS[1], is_guessed=False)
            for when, case in (("before any run", first[name]), ("from another seed", second[name])):
                report.say(
                    f"{name}, {when}: planned {case.planned_s:.1f} s, took {case.real_s:.1f} s: {case.error:.1%}"
                )
    report.check(
        "from_earlier_trials", len(SEARCHES), sum(c.plan.basis == "earlier_trials" for c in second.values())
    )
    report.check("from_the_model", len(SEARCHES), sum(c.plan.basis == "stated_model" for c in first.values()))
    return {
        "relative_error": max(case.error for case in second.values()),
        "first_relative_error": max(case.error for case in first.values()),
        "before": {name: case.cells() for name, case in first.items()},
        "after": {name: case.cells() for name, case in second.items()},
    }


def _code(folder: Path, name: str) -> Path:
    shutil.copy(DIGITS, folder)
    (folder / "search").write_text(name)
    return folder


def _config(searcher: JsonObject, seed: int) -> JsonObject:
    return {
        "entrypoint": "python3 train.py",
        "hyperparameters": SPACE,
        "searcher": {**searcher, "metric": "accuracy", "smaller_is_better": False},
        "resources": {"slots_per_trial": 1},
        "reproducibility": {"experiment_seed": seed},
        "max_restarts": 0,
    }


def _case(bench: Platform, code: Path, searcher: JsonObject, seed: int, is_guessed: bool) -> Case:
    config, step_s = _config(searcher, seed), GUESSED_S if is_guessed else None
    steps = EPOCHS if is_guessed else None
    plan = bench.client.experiments.plan(config, code, step_s=step_s, steps=steps)
    began = time.monotonic()
    made = bench.client.experiments.create(json.loads(json.dumps(config)), code)
    bench.until_completed(made.id, LOOK_S, TIMEOUT_S)
    real_s = time.monotonic() - began
    return Case(plan, real_s, _epochs(bench, made.number))


def _epochs(bench: Platform, experiment: int) -> float:
    """Trained by all trials."""
    summaries = (
        bench.client.trials.summaries(trial.id).metrics for trial in bench.client.trials.list(experiment)
    )
    return sum(one.last or 0.0 for metrics in summaries for one in metrics if one.name == "epochs")


def _await_reports(bench: Platform, code: Path, searcher: JsonObject) -> None:
    """The last ends of runs may reach the registry a moment after the experiment's."""
    end, trials = time.monotonic() + 10, searcher["max_trials"]
    while time.monotonic() < end:
        plan = bench.client.experiments.plan(_config(searcher, SEEDS[1]), code, futures=1)
        if isinstance(trials, int) and plan.earlier_runs >= trials:
            return
        time.sleep(0.5)


if __name__ == "__main__":
    run("plan_accuracy", measure)
