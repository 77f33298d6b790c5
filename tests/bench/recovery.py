"""Kills under one training on the real platform: how long until it makes its next step, and how much work is done again.

A rank, a worker's daemon, and a worker with all that it holds are killed by SIGKILL at random moments between two checkpoints.
After the death of a rank or a worker the next step is the first of the new process; a daemon's death interrupts no training, so
its figure is the time until a step made after it is stored in the registry. All kills take ten minutes: `python -m tests.bench.recovery
--results FILE --time-limit 240`, again and again, plays them in pieces.
"""

import argparse
import json
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import psutil

from muster.client.models import ExperimentDetail
from tests.bench.embedded import TRIALS, Database, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.kept import OPTIONS, Outcome, play_parts
from tests.support.processes import number_outside

KINDS = ("daemon", "rank", "worker")
KILLS = 50
STEP_S = 0.02
STEPS_BETWEEN = 50
SETTLED_S = 1.5
"""A rank has trained so long before the next kill; after a worker's, both must stand again."""
TIMEOUT_S = 60.0
LOOK_S = 0.005
STORED = """
    SELECT max(chunks.last_step) FROM registry.point_chunk AS chunks JOIN registry.series ON series.id = chunks.series
    JOIN registry.trial ON trial.id = series.trial WHERE trial.experiment = $1"""


@dataclass(frozen=True, slots=True)
class DiaryLine:
    """One line of the diary."""

    at: float
    run: str
    pid: int
    start: int
    number: int


@dataclass(frozen=True, slots=True)
class Kill:
    """One of them, by its number."""

    number: int
    kind: str

    def __str__(self) -> str:
        return f"{self.number} {self.kind}"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What one kill cost: seconds, and steps that had been done before."""

    seconds: float
    steps_again: int


class Training:
    """The one trial, by its diary and its processes."""

    def __init__(self, bench: Platform) -> None:
        self._bench = bench
        self._database = Database(bench)
        self._lines: dict[str, dict[str, None]] = {}
        config = {
            "name": "recovery",
            "entrypoint": "python3 recovering.py",
            "hyperparameters": {"diary": "diary", "step_s": STEP_S},
            "checkpoint_policy": "none",
            "min_checkpoint_period": {"batches": STEPS_BETWEEN},
            "searcher": {"name": "single", "metric": "loss"},
            "max_restarts": 1000,
        }
        code = bench.client.experiments.put_code(TRIALS)
        self.made: ExperimentDetail = bench.client.experiments.create(json.loads(json.dumps(config)), code)

    def steps(self) -> list[DiaryLine]:
        """All steps so far, in order."""
        for diary in self._bench.folders_of_runs("code/diary"):
            with suppress(OSError):
                lines = diary.read_text().splitlines()
                # A run's folder goes with it, so what it held is kept here.
                self._lines.setdefault(str(diary.parents[1]), {}).update(dict.fromkeys(lines))
        rows = [
            (run, *line.split())
            for run, lines in self._lines.items()
            for line in lines
            if line.count(" ") == 3
        ]
        found = [
            DiaryLine(float(at), run, int(pid), int(start), int(number))
            for run, at, pid, start, number in rows
        ]
        return sorted(found, key=lambda line: line.at)

    def last(self) -> DiaryLine:
        """The newest step."""
        return self.steps()[-1]

    def stored(self) -> int:
        """The newest step that the registry has."""
        return self._database.value(STORED, self.made.id) or 0

    def until(self, claim: Callable[[], bool]) -> None:
        """Wait for what must come."""
        end = time.monotonic() + TIMEOUT_S
        while not claim():
            if time.monotonic() > end:
                now = self._bench.client.experiments.get(self.made.id)
                raise SystemExit(f"the training did not go on: {now.state}, {now.reason}")
            time.sleep(LOOK_S)

    def worker_of(self, line: DiaryLine) -> Path:
        """The folder of the worker that holds a rank."""
        return Path(line.run).parents[1]

    def daemon_of(self, worker: Path) -> int:
        return _pid_in(worker / "daemon.lock")

    def all_of(self, worker: Path) -> list[int]:
        """A worker's daemon, its warm parent, and all that they hold."""
        heads = [
            psutil.Process(self.daemon_of(worker)),
            psutil.Process(_pid_in(worker / "parent/parent.lock")),
        ]
        return [one.pid for head in heads for one in (head, *head.children(recursive=True))]

    def stands(self) -> bool:
        """Whether both workers live, and their warm parents are ready to fork."""
        heads = [lock for name in ("daemon.lock", "parent/parent.lock") for lock in self._locks(name)]
        sockets = list((self._bench.home / "workers").glob("*/parent/parent.sock"))
        return (
            len(sockets) == 2 and len(heads) == 4 and all(psutil.pid_exists(_pid_in(lock)) for lock in heads)
        )

    def _locks(self, name: str) -> list[Path]:
        return list((self._bench.home / "workers").glob(f"*/{name}"))


def measure(report: Report) -> Figures:
    chosen = argparse.ArgumentParser(parents=[OPTIONS]).parse_args()
    report.inputs(kills=KILLS, step_s=STEP_S, steps_between_checkpoints=STEPS_BETWEEN, workers=2, seed=7)
    kills = [Kill(number, kind) for number, kind in enumerate(islice(cycle(KINDS), KILLS))]
    with platform(workers=2) as bench, ThreadPoolExecutor(1) as one_by_one:
        training = Training(bench)
        training.until(lambda: len(training.steps()) > STEPS_BETWEEN)
        play = partial(_kill, training, report)
        outcomes = play_parts(one_by_one, play, kills, chosen.results, chosen.time_limit)
    report.check("kills", KILLS, len(outcomes))
    times = {
        kind: [found["seconds"] for kill, found in zip(kills, outcomes, strict=True) if kill.kind == kind]
        for kind in KINDS
    }
    return {
        **{f"{kind}_median_s": median(seconds) for kind, seconds in times.items()},
        **{f"{kind}_p90_s": percentile(seconds, 0.9) for kind, seconds in times.items()},
        "lost_intervals_max": max(found["steps_again"] for found in outcomes) / STEPS_BETWEEN,
    }


def _kill(training: Training, report: Report, kill: Kill) -> Outcome:
    began = training.last()
    training.until(lambda: training.last().at > began.at + SETTLED_S and training.stands())
    time.sleep(random.Random(f"7 {kill}").random() * STEP_S * STEPS_BETWEEN)
    last = training.last()
    worker = training.worker_of(last)
    pids = {
        "rank": lambda: [number_outside(Path(last.run), last.pid)],
        "daemon": lambda: [training.daemon_of(worker)],
        "worker": lambda: training.all_of(worker),
    }[kill.kind]()
    killed_at = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    if kill.kind == "daemon":
        recovery = Recovery(_stored_after(killed_at, training), 0)
    else:
        recovery = _next_process(killed_at, last.run, training)
    report.say(f"{kill.kind}: {recovery.seconds:.2f} s, {recovery.steps_again} steps again")
    return asdict(recovery)


def _next_process(killed_at: float, run: str, training: Training) -> Recovery:
    training.until(lambda: training.last().run != run)
    steps = training.steps()
    first = next(step for step in steps if step.run != run and step.at > killed_at)
    before = max(step.number for step in steps if step.run == run)
    return Recovery(first.at - killed_at, before - first.start)


def _stored_after(killed_at: float, training: Training) -> float:
    started_after = killed_at + STEP_S
    training.until(lambda: training.last().at > started_after)
    first = next(step for step in training.steps() if step.at > started_after)
    training.until(lambda: training.stored() >= first.number)
    return time.monotonic() - killed_at


def _pid_in(lock: Path) -> int:
    return int(lock.read_text().split()[0])


if __name__ == "__main__":
    run("recovery", measure)
