"""One training on the platform and under bare `horovodrun`, for benchmarks that compare them in pairs."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import psutil
from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Platform
from worker.ranks.launch.environment import KEPT_MEMORY

POLL_S = 0.5
TIMEOUT_S = 120.0


class Inside(NamedTuple):
    """Samples a second, and the processor time of everything that is not a rank (servers, services, daemons, warm parents) and of the ranks.

    `took_s` passed between its creation and its end being seen.
    """

    samples_per_s: float
    others_s: float
    ranks_s: float
    took_s: float


def cpu_fraction(short: Sequence[Inside], whole: Sequence[Inside]) -> float:
    """The others' processor time as a part of the ranks', while they train.

    An experiment that is made, started and ended costs the same whatever its length: what a short training takes is taken off both.
    What the platform takes while nothing happens is not: a short one is looked at for no longer than it lasts.
    """
    others_s = mean(one.others_s for one in whole) - mean(one.others_s for one in short)
    ranks_s = mean(one.ranks_s for one in whole) - mean(one.ranks_s for one in short)
    return others_s / ranks_s


def train_bare(hparams: Mapping[str, JsonValue], ranks: int) -> float:
    """Samples a second of the same script under `horovodrun`, with what the worker tells glibc: only the platform is to differ."""
    program = str(Path(sys.executable).with_name("horovodrun"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **KEPT_MEMORY, "PATH": path, "MUSTER_HPARAMS": json.dumps(hparams)}
    command = [program, "-np", str(ranks), sys.executable, "throughput.py"]
    done = subprocess.run(
        command, cwd=TRIALS, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    for line in done.stdout.splitlines():
        if "samples_per_s=" in line and "{" not in line:
            return float(line.rpartition("samples_per_s=")[2])
    raise SystemExit(f"horovodrun gave no figure:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def train_inside(
    bench: Platform, code: str, hparams: Mapping[str, JsonValue], ranks: int, unseen_s: float = 0.0
) -> Inside:
    """The platform's figure for the same; nobody asks for its state in the first `unseen_s`.

    Processes are looked through before and after, not meanwhile: that would take more time than the platform does.
    """
    others_s, ranks_s = _others_s(bench), _ranks_s(bench)
    config: dict[str, JsonValue] = {
        "name": "overhead",
        "entrypoint": "python3 throughput.py",
        "hyperparameters": dict(hparams),
        "searcher": {"name": "single", "metric": "samples_per_s", "smaller_is_better": False},
        "resources": {"slots_per_trial": ranks},
        "max_restarts": 0,
    }
    began = time.monotonic()
    made = bench.client.experiments.create(config, code)
    time.sleep(unseen_s)
    now = bench.until_completed(made.id, POLL_S, TIMEOUT_S)
    if now.best is None:
        raise SystemExit(f"experiment {now.number} has reported no figure")
    took_s = time.monotonic() - began
    return Inside(now.best.value, _others_s(bench) - others_s, _ranks_s(bench) - ranks_s, took_s)


def _others_s(bench: Platform) -> float:
    """Processor time of servers, services, daemons and warm parents, so far."""
    return sum(_own_s(process) for process in processes_of(bench))


def _ranks_s(bench: Platform) -> float:
    """Processor time of the ranks that have ended, so far: what the warm parents' ended children have used."""
    return sum(_ended_children_s(process) for process in processes_of(bench) if _is_warm_parent(process))


def spent_s(bench: Platform) -> Mapping[str, float]:
    """Processor time so far by part of the platform: `gateway`, `postgres`, …; ranks are none of them."""
    spent: defaultdict[str, float] = defaultdict(float)
    for process in processes_of(bench):
        with suppress(psutil.Error):
            arguments = process.cmdline()
            service = next((argument for argument in arguments if argument.startswith("services.")), "")
            spent[service.removeprefix("services.") or _program(arguments)] += _own_s(process)
    return spent


def _program(arguments: Sequence[str]) -> str:
    """Its name; a backend of Postgres is told by whom it serves."""
    backend, found, what = arguments[0].partition("postgres: ")
    return f"postgres of {what.partition('_')[0]}" if found and not backend else Path(arguments[0]).name


def processes_of(bench: Platform) -> list[psutil.Process]:
    """Every process of this platform, but for ranks: what runs under its folder or was started from it, and what these have started."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            if str(bench.home) in " ".join(process.cmdline()) or _home_of(process) == str(bench.home):
                found[process.pid] = process
                found |= {child.pid: child for child in process.children(recursive=True)}
        except psutil.Error:
            continue
    parents = {pid for pid, process in found.items() if _is_warm_parent(process)}
    return [process for process in found.values() if _parent_of(process) not in parents]


def _parent_of(process: psutil.Process) -> int:
    try:
        return int(process.ppid())
    except psutil.Error:
        return 0


def _home_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("MUSTER_HOME")
    except psutil.Error:
        return None


def _is_warm_parent(process: psutil.Process) -> bool:
    try:
        return "muster.runtime" in process.cmdline()
    except psutil.Error:
        return False


def _own_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _ended_children_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.children_user + times.children_system)
