"""The machine for launches: names, disk, network."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import AddressFamily

import psutil

from muster import wire
from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import SlotKind
from worker.core.gang.network import Interface
from worker.machine.cgroups import Cgroups
from worker.sandbox.accounts import Account
from worker.sandbox.network.run_networks import RunNetworks
from worker.sandbox.sandboxing import Sandboxing


@dataclass(frozen=True, slots=True)
class Machine:
    """Settings common to all launches. `disk`: the worker's directory; `run_bytes`: disk limit of a run; `niceness`: CPU niceness
    of runs; `cores`: the cores that are slots; `interpreter`: the Python that ranks are started with, empty if they are forks of
    a warm parent; `libraries`: variables with library paths, including a GPU driver's; `sandboxing`: how runs get sandboxes, if they do;
    `networks`: their private networks, if they have some.

    Of one run: `account`, `socket`, `interpreter`, `sandbox` and `is_container`, whose processes have its user from the start and see
    only its GPUs (`RunContext.machine`)."""

    worker: WorkerId
    disk: Path
    address: str
    socket: Path
    path: str
    kind: SlotKind
    account: Account | None
    run_bytes: int | None
    cgroups: Cgroups
    niceness: int
    cores: tuple[int, ...] = ()
    interpreter: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)
    sandboxing: Sandboxing | None = None
    sandbox: wire.SandboxSpec | None = None
    is_container: bool = False
    networks: RunNetworks | None = None

    @property
    def full_text(self) -> str:
        """The message about a full disk."""
        return wire.disk_full_text(self.worker, self.disk)

    def describe_disk_error(self, error: OSError) -> str:
        """Return the message for a disk error."""
        if wire.is_disk_full(error):
            return self.full_text
        return f"worker {self.worker} cannot write to its disk: {error.strerror or error}"

    def network_of(self, run: RunId) -> str:
        """Return the file of the run's network namespace; empty if the run uses the machine's network."""
        return self.networks.path(run) if self.networks else ""

    def has_free_space(self, needed_bytes: int) -> bool:
        """Whether its disk has this much free space."""
        return shutil.disk_usage(self.disk).free >= needed_bytes


def interfaces() -> tuple[Interface, ...]:
    """Return the current network interfaces, one entry per IP address."""
    return tuple(
        Interface(name, found.address, found.netmask or "")
        for name, addresses in psutil.net_if_addrs().items()
        for found in addresses
        if found.family in (AddressFamily.AF_INET, AddressFamily.AF_INET6)
    )
