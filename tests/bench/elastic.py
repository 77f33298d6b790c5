"""One training on the real platform, 1 → 2 → 1 slots again and again: how long it makes no step at each change.

The pool lends idle slots. Whenever another trial wants the second slot the training gives it back, and gets it again when that one is
gone. A pause is the time between the last step before a change and the first after it, less the usual time of that first step.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pydantic import JsonValue

from muster.client.models import ExperimentDetail
from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, run

CYCLES = 4
SAMPLE_S = 0.001
TIMEOUT_S = 60.0
SETTLED_STEPS = 30
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class DiaryStep:
    """One line of the diary."""

    at: float
    pid: int
    ranks: int
    number: int
    loss: float


def measure(report: Report) -> Figures:
    report.inputs(cycles=CYCLES, workers=2, slots_per_worker=1, samples=32, sample_s=SAMPLE_S)
    with platform(workers=2) as bench:
        bench.client.cluster.edit_pool("default", elastic=True)
        steps = _train(bench)
    sizes = [(before.ranks, after.ranks) for before, after in pairwise(steps) if before.ranks != after.ranks]
    pauses = _pauses(steps)
    for (before, after), pause_s in zip(sizes, pauses, strict=True):
        report.say(f"{before} -> {after} slots: {pause_s:.3f} s")
    grown = [pause for pause, (before, after) in zip(pauses, sizes, strict=True) if after > before]
    shrunk = [pause for pause, (before, after) in zip(pauses, sizes, strict=True) if after < before]
    report.check("changes", 2 * CYCLES, len(sizes))
    report.check("processes", 1, len({step.pid for step in steps}))
    report.check("steps_missing_or_twice", 0, len({(b.number - a.number) for a, b in pairwise(steps)} - {1}))
    report.check("losses_off", 0, _losses_off(steps))
    return {
        "pause_max_s": max(pauses),
        "pause_median_s": median(pauses),
        "grow_max_s": max(grown),
        "shrink_max_s": max(shrunk),
    }


def _train(bench: Platform) -> list[DiaryStep]:
    code = bench.client.experiments.put_code(TRIALS)
    resized: dict[str, JsonValue] = {
        "name": "elastic",
        "entrypoint": "python3 resized.py",
        "hyperparameters": {"diary": "diary", "sample_s": SAMPLE_S},
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": {"min": 1, "max": 2}},
        "max_restarts": 0,
    }
    training = bench.client.experiments.create(resized, code)
    _settled(bench, 2)
    for _ in range(CYCLES):
        other = _other(bench, code)
        _settled(bench, 1)
        bench.client.experiments.kill(other.number)
        _settled(bench, 2)
    steps = _steps(bench)
    bench.client.experiments.kill(training.number)
    return steps


def _other(bench: Platform, code: str) -> ExperimentDetail:
    config: dict[str, JsonValue] = {
        "name": "other",
        "entrypoint": "sleep 600",
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": 1},
        "max_restarts": 0,
    }
    return bench.client.experiments.create(config, code)


def _settled(bench: Platform, ranks: int) -> None:
    """Wait until the training has made some steps in a row with so many ranks."""

    def has() -> bool:
        newest = _steps(bench)[-SETTLED_STEPS:]
        return len(newest) == SETTLED_STEPS and all(step.ranks == ranks for step in newest)

    _await(has, f"{ranks} ranks")


def _await(has: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not has():
        if time.monotonic() > end:
            raise SystemExit(f"the training did not come to {what} within {TIMEOUT_S:g} s")
        time.sleep(LOOK_S)


def _steps(bench: Platform) -> list[DiaryStep]:
    diaries = bench.folders_of_runs("code/diary")
    rows = (line.split() for diary in diaries for line in diary.read_text().splitlines())
    steps = [
        DiaryStep(float(w[0]), int(w[1]), int(w[2]), int(w[3]), float(w[4])) for w in rows if len(w) == 5
    ]
    return sorted(steps, key=lambda step: step.at)


def _pauses(steps: list[DiaryStep]) -> list[float]:
    usual = {
        ranks: median(
            after.at - before.at for before, after in pairwise(steps) if before.ranks == after.ranks == ranks
        )
        for ranks in (1, 2)
    }
    return [
        max(0.0, after.at - before.at - usual[after.ranks])
        for before, after in pairwise(steps)
        if before.ranks != after.ranks
    ]


def _losses_off(steps: list[DiaryStep]) -> int:
    """Changes after which the loss is another than a training that nobody resizes goes through: the whole batch is the same, so it jumps nowhere."""
    jumps = [abs(after.loss - before.loss) for before, after in pairwise(steps)]
    return sum(
        jump > 2 * max(jumps[max(0, index - 20) : index] + jumps[index + 1 : index + 20]) + 1e-4
        for index, (jump, (before, after)) in enumerate(zip(jumps, pairwise(steps), strict=True))
        if before.ranks != after.ranks
    )


if __name__ == "__main__":
    run("elastic", measure)
