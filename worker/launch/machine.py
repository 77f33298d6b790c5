"""The machine that processes are launched on: its names, its disk, its network."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from muster import wire
from shared.ids import WorkerId
from shared.messages.specs import SlotKind
from worker.launch.accounts import Account


@dataclass(frozen=True, slots=True)
class Machine:
    """What every launch here has in common. `disk` is the worker's folder."""

    worker: WorkerId
    disk: Path
    address: str
    socket: Path
    path: str
    kind: SlotKind
    account: Account | None

    @property
    def full_text(self) -> str:
        """The sentence about its disk when that is full."""
        return wire.disk_full_text(self.worker, self.disk)

    def words(self, error: OSError) -> str:
        """What an error of its disk means to people."""
        if wire.is_disk_full(error):
            return self.full_text
        return f"worker {self.worker} cannot write to its disk: {error.strerror or error}"

    def has_room(self, needed_bytes: int) -> bool:
        """Whether its disk has room for so much."""
        return shutil.disk_usage(self.disk).free >= needed_bytes


def interface_of(address: str) -> str:
    """The network interface with this address; the loopback where none has it."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(found.address == address for found in addresses):
            return name
    return "lo"
