"""Whether this worker gives runs sandboxes, and what it gives them."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import structlog

from muster import wire
from muster.errors import Rejected
from shared.ids import RunId
from worker.paths import RunPaths
from worker.sandbox.accounts import Account
from worker.sandbox.contents import SandboxNeeds, describe_installation, describe_sandbox
from worker.sandbox.network.run_networks import NetworkAccess, RunNetworks
from worker.sandbox.refusal import refusal_of_sandboxes
from worker.sandbox.uids import OwnUser, UserIds, read_uid_range
from worker.settings import WorkerSection

DEFAULT_PROCESSES = 4096
_RUNS_SHARE_OF_MEMORY = 0.9
_RUN_SHARE_OF_DISK = 0.5
_SHM_SHARE_OF_MEMORY = 0.25
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Sandboxing:
    """The sandboxes of a worker. `networks`: None if they have the machine's network; `only_containers`: runs without an image are refused."""

    users: UserIds | OwnUser
    needs: SandboxNeeds
    networks: RunNetworks | None = None
    only_containers: bool = False

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
        needs = replace(self.needs, environment=environment, gpus=gpu_numbers)
        if self.networks is not None:
            needs = _with_network(needs, self.networks.access(run_id))
        return describe_sandbox(run_id, paths, account, needs)

    def describe_installation(
        self, place: Path, account: Account, environment: Path, code: Path, network: NetworkAccess
    ) -> wire.SandboxSpec:
        """Return the sandbox in which an environment is installed from the requirements in a run's code."""
        return describe_installation(place, account, environment, code, _with_network(self.needs, network))

    @asynccontextmanager
    async def installation_network(self) -> AsyncIterator[NetworkAccess]:
        """Give an installation a network of its own for the block, if runs have some. Raises NetworkFailed."""
        if self.networks is None:
            yield NetworkAccess()
            return
        async with self.networks.borrow() as access:
            yield access


def _with_network(needs: SandboxNeeds, network: NetworkAccess) -> SandboxNeeds:
    return replace(needs, network=network.path, resolver=network.resolver)


def why_no_sandboxes(own: WorkerSection) -> Rejected | None:
    """Return why this worker gives runs no sandboxes; None if it does.

    Raises:
        Rejected: The range of user ids is invalid.
    """
    if own.sandbox == "none":
        return Rejected("sandbox_off", "MUSTER_WORKER__SANDBOX is none")
    if own.sandbox == "container":
        return None
    return refusal_of_sandboxes(account_to_try(own.uid_range))


def account_to_try(uid_range: str) -> Account:
    """Return the user of the last run that could be here. Raises Rejected: the range is invalid."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    last = read_uid_range(uid_range)[-1]
    return Account(last, last)


def find_sandboxing(own: WorkerSection) -> Sandboxing | None:
    """Return the sandboxes of this worker; None if it cannot make any, or must not.

    Raises:
        Rejected: The range of user ids is invalid.
    """
    refusal = why_no_sandboxes(own)
    if refusal is not None:
        if own.sandbox != "none":
            _log.warning("runs have no sandbox", reason=refusal.message, hint=refusal.hint)
        return None
    # Ranks read files in directories that they may only traverse; a tighter umask would prevent that.
    os.umask(0o022)
    shm_bytes = own.shm_bytes or int(psutil.virtual_memory().total * _SHM_SHARE_OF_MEMORY)
    return Sandboxing(
        UserIds(read_uid_range(own.uid_range)) if os.geteuid() == 0 else OwnUser(),
        SandboxNeeds(readable=own.readable_folders, shm_bytes=shm_bytes),
        only_containers=own.sandbox == "container",
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
