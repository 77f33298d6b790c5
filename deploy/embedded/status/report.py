"""The report of `muster status`: parts, workers, memory, problems and warnings."""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from deploy.embedded.host.processes import ProcessId
from deploy.embedded.host.proportional_memory import pss_bytes, tree
from deploy.embedded.services import load_report
from deploy.embedded.state import Part, State, load_state
from deploy.embedded.supervision.orphan_processes import WORKERS_FOLDER, find_workers
from shared.messages.health import PROCESS, CheckResult, HealthReport

ROOM_BYTES = 64 * 1024 * 1024
ISOLATION_FILE = "isolation.json"
"""Written by each worker into its directory."""
FAILING = "failing"
"""The state of a part that runs but fails."""
ISOLATION_WARNING = (
    "workers without sandboxes do not isolate trials: their pools must be trusted, and serve one tenant only"
)


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process of the platform, as a table row. `restarted_for`: the reason of the last restart; `trouble`: its current failure."""

    name: str
    kind: str
    state: str
    pid: int | None
    ports: tuple[int, ...]
    uptime_s: float | None
    restarts: int
    pss_bytes: int
    restarted_for: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, and the parts that report it.

    Attributes:
        since: When the first of them began to fail, as ISO 8601; None if unknown.
    """

    check: str
    reason: str
    services: tuple[str, ...]
    since: str | None


@dataclass(frozen=True, slots=True)
class PoolIsolation:
    """The isolation of runs on workers of a pool: `sandbox`, `user` or `none`, and its limits."""

    pool: str
    isolation: str
    detail: str
    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A report on the platform.

    Attributes:
        running: whether a supervisor runs.
        phase: the current phase.
        platform_pss_bytes: memory of supervisor, servers and services.
        workers_pss_bytes: memory of workers, warm parents and ranks.
        isolation: the isolation of runs on the workers, for each pool.
        problems: current problems: a full disk, parts that do not run or fail, and failing health checks of services.
    """

    running: bool
    phase: str
    home: str
    url: str
    grpc: str
    message: str
    parts: tuple[ProcessRow, ...]
    workers: tuple[ProcessRow, ...]
    platform_pss_bytes: int
    workers_pss_bytes: int
    warnings: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    isolation: tuple[PoolIsolation, ...] = ()

    @property
    def health(self) -> Literal["ok", "degraded", "stopped"]:
        """The overall health."""
        if not self.running:
            return "stopped"
        return "degraded" if self.problems else "ok"

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "health": self.health}


def collect_report(home: Path) -> Report:
    """Collect the report of the platform in a directory, running or not."""
    state = load_state(home)
    workers = _worker_lines(home)
    if state is None:
        return Report(False, "stopped", str(home), "", "", "", (), workers, 0, _sum(workers), ())
    running = state.supervisor.is_alive()
    reports = _load_reports(state) if running else {}
    checks = {service: report.checks if report else None for service, report in reports.items()}
    parts = (_supervisor_line(state), *(_part_line(part) for part in state.parts)) if running else ()
    return Report(
        running=running,
        phase=state.phase if running or state.phase == "failed" else "stopped",
        home=str(home),
        url=state.url if running else "",
        grpc=state.grpc if running else "",
        message=state.message,
        parts=parts,
        workers=workers,
        platform_pss_bytes=_sum(parts),
        workers_pss_bytes=_sum(workers),
        problems=(
            (
                *_full_disk(home),
                *_absent(state),
                *_failing(state),
                *find_problems(checks),
            )
            if running
            else ()
        ),
        isolation=(isolation := _load_isolation(home, [line.name for line in workers])),
        warnings=(
            *((ISOLATION_WARNING,) if any(one.isolation != "sandbox" for one in isolation) else ()),
            *(warning for report in reports.values() if report for warning in report.warnings),
        ),
    )


def _full_disk(home: Path) -> Iterator[Problem]:
    """Report a full disk, on which the supervisor cannot update its state."""
    free = shutil.disk_usage(home).free
    if free < ROOM_BYTES:
        reason = f"the disk that holds {home} is full ({free // 2**20} MiB free): free some space; other problems may be missing from this report until then"
        yield Problem("disk", reason, ("supervisor",), None)


def _failing(state: State) -> Iterator[Problem]:
    """Return parts that run but fail."""
    return (Problem(part.name, part.trouble, ("supervisor",), None) for part in state.parts if part.trouble)


def _absent(state: State) -> tuple[Problem, ...]:
    """Return parts that should run but do not. Parts that are starting or stopping are no problem."""
    away = [part.name for part in state.parts if part.state not in ("running", "external")]
    return (Problem(PROCESS, "not running", tuple(away), None),) if away and state.phase == "ready" else ()


def find_problems(checks: Mapping[str, Sequence[CheckResult] | None]) -> tuple[Problem, ...]:
    """Return the failing checks of all services; checks with the same reason are one problem.

    Args:
        checks: By service; None if it does not answer.
    """
    failing: dict[tuple[str, str], list[tuple[str, CheckResult]]] = {}
    for service, found in checks.items():
        for check in found or ():
            if not check.ok:
                failing.setdefault((check.name, check.reason or ""), []).append((service, check))
    problems = [
        Problem(
            check=name,
            reason=reason,
            services=tuple(service for service, _ in ones),
            since=min(one.since for _, one in ones).isoformat(timespec="seconds"),
        )
        for (name, reason), ones in failing.items()
    ]
    silent = tuple(service for service, found in checks.items() if found is None)
    if silent:
        problems.append(Problem("answers", "the side port does not answer", silent, None))
    return tuple(problems)


def _load_reports(state: State) -> dict[str, HealthReport | None]:
    """Query the side ports of all services in parallel, so that a hanging one does not delay the others."""
    running = [part for part in state.parts if part.kind == "service" and part.state == "running"]
    if not running:
        return {}
    with ThreadPoolExecutor(len(running)) as executor:
        found = executor.map(lambda part: load_report(part.ports[-1]), running)
        return dict(zip([part.name for part in running], found, strict=True))


def _supervisor_line(state: State) -> ProcessRow:
    identity = state.supervisor
    return ProcessRow(
        "supervisor",
        "supervisor",
        "running",
        identity.pid,
        (),
        _uptime_s(identity),
        0,
        pss_bytes([identity.pid]),
    )


def _part_line(part: Part) -> ProcessRow:
    process = part.process if part.process is not None and part.process.is_alive() else None
    # Workers started by the provisioner are its children; they are counted separately.
    pids = tree([process]) if process is not None and part.kind == "server" else _pids(process)
    return ProcessRow(
        part.name,
        part.kind,
        FAILING if part.trouble and part.state == "running" else part.state,
        process.pid if process else None,
        part.ports,
        _uptime_s(process) if process else None,
        part.restarts,
        pss_bytes(pids),
        part.restarted_for,
        part.trouble,
    )


def _worker_lines(home: Path) -> tuple[ProcessRow, ...]:
    lines = []
    counted: set[int] = set()
    for worker in find_workers(home):
        pids = tree(worker.living) - counted
        counted |= pids
        first, state = worker.living[0], "running" if worker.daemon else "daemon ended"
        lines.append(
            ProcessRow(worker.worker, "worker", state, first.pid, (), _uptime_s(first), 0, pss_bytes(pids))
        )
    return tuple(lines)


def _load_isolation(home: Path, workers: Sequence[str]) -> tuple[PoolIsolation, ...]:
    """Return what the workers wrote when they started."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for worker in workers:
        with suppress(OSError, ValueError):
            written = json.loads((home / WORKERS_FOLDER / worker / ISOLATION_FILE).read_text())
            found.setdefault((written["pool"], written["kind"], written["detail"]), []).append(worker)
    return tuple(PoolIsolation(*key, tuple(names)) for key, names in sorted(found.items()))


def _pids(process: ProcessId | None) -> set[int]:
    return {process.pid} if process is not None else set()


def _sum(lines: tuple[ProcessRow, ...]) -> int:
    return sum(line.pss_bytes for line in lines)


def _uptime_s(process: ProcessId) -> float | None:
    """Return its uptime: the kernel's start tick against the time since boot."""
    with suppress(OSError, psutil.Error):
        ticks = os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / ticks)
    return None
