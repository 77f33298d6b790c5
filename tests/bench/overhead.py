"""Samples a second of a two-rank Horovod training on the platform against bare `horovodrun`, in pairs that take turns.

And the processor time of everything that is not a rank (servers, services, daemons, warm parents) as a part of the ranks'.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, median_interval, run

PAIRS = 15
STEPS = 200
POLL_S = 0.5
CONFIG = {
    "name": "overhead",
    "entrypoint": "python3 throughput.py",
    "hyperparameters": {"steps": STEPS},
    "searcher": {"name": "single", "metric": "samples_per_s", "smaller_is_better": False},
    "resources": {"slots_per_trial": 2},
    "max_restarts": 0,
}


def measure(report: Report) -> Figures:
    report.inputs(pairs=PAIRS, steps=STEPS, ranks=2, workers=2, reports_every_steps=10)
    with platform(workers=2) as bench:
        code = bench.client.experiments.put_code(TRIALS)
        _inside(bench, code)
        ratios, parts = [], []
        for pair in range(PAIRS):
            bare = _bare()
            inside, part = _inside(bench, code)
            ratios.append(inside / bare)
            parts.append(part)
            report.say(f"pair {pair + 1}: bare {bare:.0f}/s, platform {inside:.0f}/s, ratio {ratios[-1]:.3f}")
    median, low, high = median_interval(ratios)
    report.check("lost", 0, PAIRS - len(ratios))
    return {
        "ratio": median,
        "ratio_low": low,
        "ratio_high": high,
        "cpu_fraction": median_interval(parts)[0],
    }


def _bare() -> float:
    program = str(Path(sys.executable).with_name("horovodrun"))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [program, "-np", "2", sys.executable, "throughput.py"]
    environment["MUSTER_HPARAMS"] = json.dumps({"steps": STEPS})
    done = subprocess.run(
        command, cwd=TRIALS, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    for line in done.stdout.splitlines():
        if "samples_per_s=" in line and "{" not in line:
            return float(line.rpartition("samples_per_s=")[2])
    raise SystemExit(f"horovodrun gave no figure:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _inside(bench: Platform, code: str) -> tuple[float, float]:
    """The platform's figure, and the processor time of all others as a part of the ranks'.

    Processes are looked through before and after, not meanwhile: that would take more time than the platform does.
    """
    others_s, ranks_s = _others_s(bench), _ranks_s(bench)
    made = bench.client.experiments.create(json.loads(json.dumps(CONFIG)), code)
    while (now := bench.client.experiments.get(made.id)).state in ("active", "submitted"):
        time.sleep(POLL_S)
    if now.state != "completed" or now.best is None:
        raise SystemExit(f"experiment {now.number} ended as {now.state}: {now.reason}")
    return now.best.value, (_others_s(bench) - others_s) / (_ranks_s(bench) - ranks_s)


def _others_s(bench: Platform) -> float:
    """Processor time of servers, services, daemons and warm parents, so far."""
    return sum(_own_s(process) for process in _processes(bench))


def _ranks_s(bench: Platform) -> float:
    """Processor time of the ranks that have ended, so far: what the warm parents' ended children have used."""
    return sum(_ended_children_s(process) for process in _processes(bench) if _is_warm_parent(process))


def _processes(bench: Platform) -> list[psutil.Process]:
    """Every process of this platform: what runs under its folder, or was started from it."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(bench.home) in " ".join(process.cmdline()) or _home_of(process) == str(bench.home):
                found.append(process)
        except psutil.Error:
            continue
    return found


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


if __name__ == "__main__":
    run("overhead", measure)
