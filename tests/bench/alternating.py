"""One training on the platform and one under bare `horovodrun`, both alive, that take turns of a second and a half: the other one stands still.

Two runs one after the other differ by more than the platform could take: the same training with two ranks has made 13,000 and
28,000 samples a second within a minute, with no platform beside it (decision 0214). What drifts slower than a turn meets both alike here.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Platform
from tests.bench.pairs import processes_of
from tests.support.processes import number_outside
from worker.ranks.launch.environment import KEPT_MEMORY

SLICE_S = 1.5
SETTLE_S = 0.4
"""What a turn begins with and does not count: what the other's last steps have left the platform to do, and cold caches."""
ALONE_S = 3.0
WARM_UP_STEPS = 12
TIMEOUT_S = 120.0
ENDLESS = 10**9
MARKS = "marks"


class AlternatingRates(NamedTuple):
    """Steps a second of each, turn by turn, and the processor time of the platform as a part of the ranks', while they train alone."""

    bare: list[float]
    inside: list[float]
    cpu_fraction: float


class Training:
    """The ranks of one training. The script writes when each step of rank 0 ended, and who its ranks are."""

    def __init__(
        self, name: str, folders: Callable[[], list[Path]], number: Callable[[Path, int], int]
    ) -> None:
        """`folders`: where its ranks write `MARKS` now; `number`: this machine's number of a process that has one of its own there."""
        self._name = name
        self._folders = folders
        self._number = number
        self._pids: dict[Path, int] = {}

    @property
    def pids(self) -> list[int]:
        for folder in self._folders():
            for file in folder.glob(f"{MARKS}.*.pid"):
                if file not in self._pids and (text := file.read_text()):
                    self._pids[file] = self._number(folder, int(text))
        return list(self._pids.values())

    @property
    def steps_ns(self) -> list[int]:
        """When its steps ended (CLOCK_MONOTONIC)."""
        marks = [folder / MARKS for folder in self._folders()]
        data = b"".join(one.read_bytes() for one in marks if one.exists())
        return [at for (at,) in struct.iter_unpack("<Q", data[: len(data) // 8 * 8])]

    def go(self) -> None:
        """Let it train."""
        self._send(signal.SIGCONT)

    def stand(self) -> None:
        """Have it stand still."""
        self._send(signal.SIGSTOP)

    def kill(self) -> None:
        """End it."""
        self._send(signal.SIGKILL)

    def await_steps(self, ended: Callable[[], bool]) -> None:
        """Wait until it trains; raises SystemExit where it does not."""
        until = time.monotonic() + TIMEOUT_S
        while len(self.steps_ns) < WARM_UP_STEPS:
            if ended() or time.monotonic() > until:
                raise SystemExit(f"{self._name}: no training began within {TIMEOUT_S:g} s")
            time.sleep(0.1)

    def rate(self, began: float, ended: float) -> float:
        """Steps a second between two moments, by the first and the last that ended there. Where the machine has let fewer than two end, one in
        that time: the median of many turns bears it, and a run of twenty minutes is not lost."""
        inside = [at for at in self.steps_ns if began * 1e9 <= at <= ended * 1e9]
        return (len(inside) - 1) * 1e9 / (inside[-1] - inside[0]) if len(inside) > 1 else 1 / (ended - began)

    def _send(self, sign: signal.Signals) -> None:
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, sign)


def alternate(bench: Platform, code: str, model: str, ranks: int, pairs: int) -> AlternatingRates:
    """Start one after the other, let them take so many turns, and end both. Which of them begins alternates."""
    with TemporaryDirectory(prefix="muster-turns-") as folder:
        bare = Training("bare", lambda: [Path(folder)], lambda _, pid: pid)
        inside = Training(
            "inside",
            lambda: bench.folders_of_runs("code"),
            lambda code, pid: number_outside(code.parent, pid),
        )
        hparams: dict[str, JsonValue] = {"model": model, "steps": ENDLESS}
        with (
            _trains_bare(hparams | {"marks": str(Path(folder, MARKS))}, ranks, bare),
            _trains_inside(bench, code, hparams | {"marks": MARKS}, ranks, inside),
        ):
            windows: dict[Training, list[tuple[float, float]]] = {bare: [], inside: []}
            for number in range(pairs):
                for one in (bare, inside) if number % 2 else (inside, bare):
                    one.go()
                    began = time.monotonic()
                    time.sleep(SLICE_S)
                    windows[one].append((began + SETTLE_S, time.monotonic()))
                    one.stand()
            inside.go()
            fraction = _cpu_fraction(bench, inside.pids)
            return AlternatingRates(
                [bare.rate(*window) for window in windows[bare]],
                [inside.rate(*window) for window in windows[inside]],
                fraction,
            )


@contextmanager
def _trains_bare(hparams: Mapping[str, JsonValue], ranks: int, training: Training) -> Iterator[None]:
    """Under `horovodrun`, with what the worker tells glibc: only the platform is to differ."""
    program = str(Path(sys.executable).with_name("horovodrun"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **KEPT_MEMORY, "PATH": path, "MUSTER_HPARAMS": json.dumps(hparams)}
    command = [program, "-np", str(ranks), sys.executable, "throughput.py"]
    process = subprocess.Popen(
        command, cwd=TRIALS, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        training.await_steps(lambda: process.poll() is not None)
        training.stand()
        yield
    finally:
        training.kill()
        process.terminate()
        process.wait(TIMEOUT_S)


@contextmanager
def _trains_inside(
    bench: Platform, code: str, hparams: Mapping[str, JsonValue], ranks: int, training: Training
) -> Iterator[None]:
    config: dict[str, JsonValue] = {
        "name": "overhead",
        "entrypoint": "python3 throughput.py",
        "hyperparameters": dict(hparams),
        "searcher": {"name": "single", "metric": "samples_per_s", "smaller_is_better": False},
        "resources": {"slots_per_trial": ranks},
        "max_restarts": 0,
    }
    made = bench.client.experiments.create(config, code)
    try:
        training.await_steps(lambda: bench.client.experiments.get(made.id).final)
        training.stand()
        yield
    finally:
        training.go()
        bench.client.experiments.kill(made.id)
        until = time.monotonic() + TIMEOUT_S
        while not bench.client.experiments.get(made.id).final and time.monotonic() < until:
            time.sleep(0.2)


def _cpu_fraction(bench: Platform, ranks: list[int]) -> float:
    """Processor time of servers, services, daemons and warm parents as a part of the ranks', idle work and all."""
    others = [process.pid for process in processes_of(bench)]
    time.sleep(SETTLE_S)
    before = _spent_ns(others), _spent_ns(ranks)
    time.sleep(ALONE_S)
    return (_spent_ns(others) - before[0]) / (_spent_ns(ranks) - before[1])


def _spent_ns(pids: list[int]) -> int:
    """What the scheduler has counted of all their threads: a process's own times come in hundredths of a second."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                total += int((thread / "schedstat").read_text().split()[0])
    return total
