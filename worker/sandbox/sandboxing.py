"""Whether this worker gives runs sandboxes, and what it gives them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from muster import wire
from shared.ids import RunId
from worker.paths import RunPaths
from worker.sandbox.accounts import Account
from worker.sandbox.contents import SandboxNeeds, describe_installation, describe_sandbox
from worker.sandbox.uids import UserIds, read_uid_range
from worker.settings import WorkerSection

DEFAULT_PROCESSES = 4096
_RUNS_SHARE_OF_MEMORY = 0.9
_RUN_SHARE_OF_DISK = 0.5
_SHM_SHARE_OF_MEMORY = 0.25


@dataclass(frozen=True, slots=True)
class Sandboxing:
    """The sandboxes of a worker that runs as root."""

    users: UserIds
    needs: SandboxNeeds

    def account_of(self, folder: Path) -> Account:
        """Return the user of a run, or of the installation of an environment, by its folder. Raises OSError."""
        return self.users.account_of(folder)

    def describe(
        self,
        run_id: RunId,
        paths: RunPaths,
        account: Account,
        environment: Path | None,
        gpus: Sequence[int] | None,
    ) -> wire.SandboxSpec:
        """Return the sandbox of a run. `environment`: the folder of its Python environment; `gpus`: None for slots that are cores."""
        gpu_numbers = None if gpus is None else tuple(gpus)
        return describe_sandbox(
            run_id, paths, account, replace(self.needs, environment=environment, gpus=gpu_numbers)
        )

    def describe_installation(
        self, place: Path, account: Account, environment: Path, code: Path
    ) -> wire.SandboxSpec:
        """Return the sandbox in which an environment is installed from the requirements in a run's code."""
        return describe_installation(place, account, environment, code, self.needs)


def is_sandboxing(own: WorkerSection) -> bool:
    """Whether this worker gives runs sandboxes."""
    return own.sandbox != "none" and os.geteuid() == 0


def find_sandboxing(own: WorkerSection) -> Sandboxing | None:
    """Return the sandboxes of this worker; None if it cannot make any, or must not.

    Raises:
        Rejected: The range of user ids is invalid.
    """
    if not is_sandboxing(own):
        return None
    shm_bytes = own.shm_bytes or int(psutil.virtual_memory().total * _SHM_SHARE_OF_MEMORY)
    return Sandboxing(
        UserIds(read_uid_range(own.uid_range)),
        SandboxNeeds(readable=own.readable_folders, shm_bytes=shm_bytes),
    )


def with_default_limits(own: WorkerSection, slots: int) -> WorkerSection:
    """Return the settings of a worker with sandboxes, with limits where none are set: one run must not exhaust the machine."""
    memory = int(psutil.virtual_memory().total * _RUNS_SHARE_OF_MEMORY) // max(1, slots)
    disk = int(psutil.disk_usage(str(own.directory)).total * _RUN_SHARE_OF_DISK)
    return own.model_copy(
        update={
            "slot_memory_bytes": own.slot_memory_bytes or memory,
            "slot_processes": own.slot_processes or DEFAULT_PROCESSES,
            "run_bytes": own.run_bytes or disk,
        }
    )
