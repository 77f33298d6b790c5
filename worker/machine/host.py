"""The machine that processes are launched on: its names, its disk, its network."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import AddressFamily

import psutil

from muster import wire
from shared.ids import WorkerId
from shared.messages.specs import SlotKind
from worker.core.gang.network import Interface
from worker.machine.cgroups import Cgroups
from worker.sandbox.accounts import Account


@dataclass(frozen=True, slots=True)
class Machine:
    """What every launch here has in common. `disk` is the worker's folder; `run_bytes`: the most that a run may hold there; `niceness`: how far
    runs give way to what else it computes; `cores`: those that are slots, by their numbers; `interpreter`: the Python that ranks are
    started with, empty where they are forks of a warm parent; `libraries`: variables that say where its own lie, a GPU's driver included."""

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

    @property
    def full_text(self) -> str:
        """The sentence about its disk when that is full."""
        return wire.disk_full_text(self.worker, self.disk)

    def describe_disk_error(self, error: OSError) -> str:
        """What an error of its disk means to people."""
        if wire.is_disk_full(error):
            return self.full_text
        return f"worker {self.worker} cannot write to its disk: {error.strerror or error}"

    def has_free_space(self, needed_bytes: int) -> bool:
        """Whether its disk has room for so much."""
        return shutil.disk_usage(self.disk).free >= needed_bytes


def interfaces() -> tuple[Interface, ...]:
    """The network interfaces that are there now, one entry for each internet address of them."""
    return tuple(
        Interface(name, found.address, found.netmask or "")
        for name, addresses in psutil.net_if_addrs().items()
        for found in addresses
        if found.family in (AddressFamily.AF_INET, AddressFamily.AF_INET6)
    )
