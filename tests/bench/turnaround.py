"""Sixty trials under ASHA without training, on two slots: what a trial costs beside its training.

The clock runs from the request to the experiment's terminal state. The decisions are checked against the rule, in the order in which the
search took the results. Ray Tune does the same where `make peers` has installed it, with and without reused actors.
"""

import json
import subprocess
import time
from bisect import bisect_left
from collections.abc import Iterable

from muster.client.models import JournalEntry
from tests.bench.embedded import ROOT, TRIALS, Platform, platform
from tests.bench.harness import Figure, Figures, Report, run

NUMBER = 60
MAX_TIME, DIVISOR, RUNGS = 9, 3, (1, 3, 9)
SEED = 7
LOOK_S = 0.1  # at most 2 ms of it stand in the figure of a trial
TIMEOUT_S = 600.0
CONFIG = {
    "name": "turnaround",
    "entrypoint": "python3 steps.py",
    "hyperparameters": {"point": {"type": "double", "minval": 0.0, "maxval": 1.0}, "seed": SEED},
    "searcher": {
        "name": "async_halving",
        "metric": "loss",
        "time_metric": "iteration",
        "max_time": MAX_TIME,
        "divisor": DIVISOR,
        "num_rungs": len(RUNGS),
        "max_trials": NUMBER,
        "max_concurrent_trials": 2,
    },
    "resources": {"slots_per_trial": 1},
    "reproducibility": {"experiment_seed": SEED},
    "max_restarts": 0,
}


def measure(report: Report) -> Figures:
    report.inputs(trials=NUMBER, max_time=MAX_TIME, divisor=DIVISOR, slots=2, seed=SEED)
    with platform(workers=2) as bench:
        code = bench.client.experiments.put_code(TRIALS)
        _search(bench, code, {**CONFIG, "searcher": {**CONFIG["searcher"], "max_trials": 4}})  # type: ignore[dict-item]
        seconds, number = _search(bench, code, CONFIG)
        stopped = _check(report, bench, number)
    figures: Figures = {"per_trial_s": seconds / NUMBER, "stopped": stopped}
    for key, reuse in (("ray_per_trial_s", "fresh"), ("ray_reuse_per_trial_s", "reuse")):
        figures[key] = _ray(report, reuse)
    return figures


def _search(bench: Platform, code: str, config: dict[str, object]) -> tuple[float, int]:
    began = time.monotonic()
    made = bench.client.experiments.create(json.loads(json.dumps(config)), code)
    now = bench.until_completed(made.id, LOOK_S, TIMEOUT_S)
    return time.monotonic() - began, now.number


def _check(report: Report, bench: Platform, number: int) -> int:
    trials = list(bench.client.trials.list(number))
    stopped = {trial.number for trial in trials if trial.state == "stopped"}
    expected = _by_the_rule(bench.client.experiments.journal(number))
    report.check("lost", 0, NUMBER - len(trials))
    report.check("doubled", 0, len(trials) - len({trial.number for trial in trials}))
    report.check("wrong", 0, len(stopped ^ expected))
    report.check("failed", 0, sum(trial.state == "error" for trial in trials))
    return len(stopped)


def _by_the_rule(journal: Iterable[JournalEntry]) -> set[int]:
    """Which trials ASHA stops short of the top rung, from the results in the order in which they were taken."""
    rungs: list[list[float]] = [[] for _ in RUNGS]
    at: dict[int, int] = {}
    stopped: set[int] = set()
    for entry in journal:
        if entry.kind != "judged":
            continue
        trial, reached, found = (entry.facts[key] for key in ("trial", "time", "value"))
        assert isinstance(trial, int) and isinstance(reached, int | float) and isinstance(found, float)
        rung = at.get(trial, 0)
        while trial not in stopped and rung < len(RUNGS) and reached >= RUNGS[rung]:
            place = bisect_left(rungs[rung], found)
            rungs[rung].insert(place, found)
            if rung < len(RUNGS) - 1 and place >= max(len(rungs[rung]) // DIVISOR, 1):
                stopped.add(trial)
            rung += 1
        at[trial] = rung
    return stopped


def _ray(report: Report, mode: str) -> Figure:
    """Ray Tune's figure for the same search, None where it is not installed."""
    python = ROOT / ".peers" / "bin" / "python"
    if not python.exists():
        report.say("Ray Tune is not installed (make peers): left out")
        return None
    command = [str(python), str(ROOT / "tests/bench/peers/ray_asha.py"), mode, str(NUMBER), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        report.say(f"Ray Tune failed: {done.stderr[-500:]}")
        return None
    return float(json.loads(done.stdout.strip().splitlines()[-1])["per_trial_s"])


if __name__ == "__main__":
    run("turnaround", measure)
