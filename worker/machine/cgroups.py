"""Control groups of runs: the kernel limits each run's memory and processes, and tracks its descendants.

Requires root, or a delegated group. Supports cgroup v1 and v2.
"""

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from shared.ids import RunId, WorkerId
from worker.machine.oom_kills import count_kills

MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
DAEMON = "muster-daemon"
_PROCS = "cgroup.procs"
_ANY_RUN = "?" * 36
"""The length of a run's id: the groups of worker `a-b` must not match worker `a`."""
_log = structlog.get_logger()

Bounded = Literal["memory", "pids"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Resource limits per slot of a run; None: no limit."""

    memory_bytes: int | None = None
    processes: int | None = None

    def of(self, slots: int) -> dict[Bounded, int]:
        """Return the limits of a run with so many slots; a run with a fractional slot gets those of a whole one."""
        per_slot: dict[Bounded, int | None] = {"memory": self.memory_bytes, "pids": self.processes}
        return {name: value * max(1, slots) for name, value in per_slot.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Tree:
    """One hierarchy: the group below which this worker creates groups, and its limit and event files. `swap`: the swap limit file, and whether it
    limits the sum of memory and swap."""

    base: Path
    limits: Mapping[Bounded, str]
    swap: tuple[str, bool] | None
    events: str


class Cgroups:
    """The groups of this worker's runs; without trees there are no limits."""

    def __init__(self, worker: WorkerId, bounds: Bounds, trees: tuple[Tree, ...] = ()) -> None:
        self._prefix = f"muster-{worker}-"
        self.bounds = bounds
        self._trees = trees

    @property
    def limits_memory(self) -> bool:
        """Whether the kernel limits the memory of a run as a whole."""
        return any("memory" in tree.limits for tree in self._trees)

    def make(self, run: RunId, slots: int) -> None:
        """Create the run's groups, or update their limits. Raises OSError if the kernel refuses."""
        wanted = self.bounds.of(slots)
        for tree, group in self._groups(run):
            group.mkdir(exist_ok=True)
            self._set_swap(
                group, tree, wanted
            )  # before the others if limits rise, after them if they fall: the memory limit must never exceed this one
            for name, file in tree.limits.items():
                (group / file).write_text(str(wanted[name]))
            self._set_swap(group, tree, wanted)

    def procs_files(self, run: RunId) -> list[str]:
        """Return the files to which a process of the run writes its pid first."""
        return [str(group / _PROCS) for _, group in self._groups(run) if group.is_dir()]

    def kills(self, run: RunId) -> int | None:
        """Return the number of OOM kills of the run; None if there is no count per run."""
        counts = [
            count_kills(group / tree.events) for tree, group in self._groups(run) if "memory" in tree.limits
        ]
        return sum(counts) if counts else None

    def end(self, run: RunId) -> None:
        """Kill all remaining processes of the run."""
        for _, group in self._groups(run):
            with suppress(OSError):
                for pid in map(int, (group / _PROCS).read_text().split()):
                    os.kill(pid, signal.SIGKILL)

    def drop(self, run: RunId) -> bool:
        """Remove the run's groups; return whether they are gone: a process that was killed leaves its group a little later."""
        groups = [group for _, group in self._groups(run) if group.is_dir()]
        for group in groups:
            with suppress(OSError):
                group.rmdir()
        return not any(group.is_dir() for group in groups)

    def sweep(self, known: Iterable[RunId]) -> None:
        """Remove groups of runs that no longer exist here."""
        names = {f"{self._prefix}{run}" for run in known}
        for tree in self._trees:
            for group in tree.base.glob(self._prefix + _ANY_RUN):
                if group.name not in names:
                    with suppress(OSError):
                        group.rmdir()

    def _set_swap(self, group: Path, tree: Tree, wanted: Mapping[Bounded, int]) -> None:
        if tree.swap is None:
            return
        file, is_sum = tree.swap
        with suppress(OSError):  # the file does not exist without swap accounting
            (group / file).write_text(str(wanted["memory"] if is_sum else 0))

    def _groups(self, run: RunId) -> list[tuple[Tree, Path]]:
        return [(tree, tree.base / f"{self._prefix}{run}") for tree in self._trees]


def open_cgroups(worker: WorkerId, bounds: Bounds) -> Cgroups:
    """Return the groups of a worker; without permission, log a warning and set no limits."""
    try:
        return Cgroups(worker, bounds, claim_trees(bounds))
    except (OSError, ValueError) as error:
        _log.warning(
            "memory and processes of runs are not limited: control groups cannot be created", why=str(error)
        )
        return Cgroups(worker, bounds)


def claim_trees(bounds: Bounds, mount: Path = MOUNT, own: Path = OWN) -> tuple[Tree, ...]:
    """Return the hierarchies for the limits. In cgroup v2 the daemon moves into a group of its own first: only a group without
    processes may have children with controllers.

    Raises:
        OSError: Permission is missing, or a controller.
    """
    wanted = bounds.of(1)
    if not wanted:
        return ()
    own_groups = dict(_own_groups(own))
    if (mount / "cgroup.controllers").exists():
        return (_unified(mount / own_groups.get("", "/").lstrip("/"), wanted),)
    return tuple(_separate(mount / name / own_groups.get(name, "/").lstrip("/"), name) for name in wanted)


def refusal_of_limits(mount: Path = MOUNT, own: Path = OWN) -> tuple[str, str | None]:
    """Return the version of control groups, and why this user cannot limit runs with them; None if it can. Changes nothing."""
    try:
        groups = dict(_own_groups(own))
        if (mount / "cgroup.controllers").exists():
            base = mount / groups.get("", "/").lstrip("/")
            base = base.parent if base.name == DAEMON else base
            missing = {"memory", "pids"} - set((base / "cgroup.controllers").read_text().split())
            if missing:
                return "cgroup v2", f"{base} has no controller {' and '.join(sorted(missing))}"
            return "cgroup v2", None if os.access(base, os.W_OK) else f"{base} is not writable"
        bases = [mount / name / groups.get(name, "/").lstrip("/") for name in ("memory", "pids")]
    except OSError as error:
        return "no control groups", str(error)
    closed = [str(base) for base in bases if not os.access(base, os.W_OK)]
    return "cgroup v1", f"{' and '.join(closed)} cannot be written" if closed else None


def _own_groups(own: Path) -> Iterable[tuple[str, str]]:
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _unified(base: Path, wanted: Mapping[Bounded, int]) -> Tree:
    if base.name == DAEMON:
        base = base.parent  # set up by an earlier daemon, and inherited
    missing = set(wanted) - set((base / "cgroup.controllers").read_text().split())
    if missing:
        raise OSError(f"{base} has no controller {' and '.join(sorted(missing))}")
    (base / DAEMON).mkdir(exist_ok=True)
    (base / DAEMON / _PROCS).write_text(str(os.getpid()))
    (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
    limits: dict[Bounded, str] = {name: f"{name}.max" for name in wanted}
    return Tree(base, limits, ("memory.swap.max", False) if "memory" in wanted else None, "memory.events")


def _separate(base: Path, name: Bounded) -> Tree:
    if not os.access(base, os.W_OK):
        raise OSError(f"{base} does not exist or is not writable")
    if name == "pids":
        return Tree(base, {"pids": "pids.max"}, None, "pids.events")
    swap = "memory.memsw.limit_in_bytes", True
    return Tree(base, {"memory": "memory.limit_in_bytes"}, swap, "memory.oom_control")
