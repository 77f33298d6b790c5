"""Limits of an installation in a sandbox: those of a run with one slot, because what it builds is user code too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from shared.ids import RunId
from worker.machine.cgroups import Cgroups
from worker.sandbox.taken_space import taken_bytes

OPEN_FILES = 65_536


@dataclass(frozen=True, slots=True)
class InstallationLimits:
    """None: no limit. `cgroups` has the limits of memory and processes."""

    cgroups: Cgroups | None = None
    disk_bytes: int | None = None

    @contextmanager
    def applied(self, environment: str) -> Iterator[dict[str, Any]]:
        """Yield what the file of the sandbox says of the limits, while the environment, named by 16 hexadecimal digits, has a control group."""
        limits = {"core": 0, "nofile": OPEN_FILES}
        if self.disk_bytes is not None:
            limits["fsize"] = self.disk_bytes
        if self.cgroups is None:
            yield {"limits": limits}
            return
        bounds, group = self.cgroups.bounds.of(1), RunId(UUID(environment * 2))
        if "pids" in bounds:
            limits["nproc"] = bounds["pids"]
        if "memory" in bounds and not self.cgroups.limits_memory:
            limits["data"] = bounds["memory"]
        self.cgroups.make(group, 1)
        try:
            yield {"limits": limits, "cgroups": self.cgroups.procs_files(group)}
        finally:
            self.cgroups.end(group)
            self.cgroups.drop(group)

    def over_disk(self, folder: Path, user: int) -> str:
        """Return the exceeded limit of disk space as text; empty: none."""
        own = None if user == os.geteuid() else user
        if self.disk_bytes is None or taken_bytes(folder, own) <= self.disk_bytes:
            return ""
        return f"it used more than {self.disk_bytes >> 20} MiB of disk space (MUSTER_WORKER__RUN_BYTES)"


NO_LIMITS = InstallationLimits()
