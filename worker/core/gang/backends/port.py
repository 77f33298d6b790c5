"""The port: what a way of training together needs of a launch. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muster.config.optimizations import Optimizations
from shared.messages.specs import GangMember
from worker.core.gang.assignment import RankAssignment


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where a gang meets, as `host:port` on the chief's machine."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class RankPosition:
    """One process of a run: the run's name (another at each start, alike on all members), its members, this machine's seat
    among them, the process's number here."""

    run: str
    members: Sequence[GangMember]
    assignment: RankAssignment
    local: int

    @property
    def rank(self) -> int:
        """Its number in the whole run."""
        return self.assignment.first_rank + self.local


class Backend(Protocol):
    """A value of `distributed`."""

    @property
    def needs_rendezvous(self) -> bool:
        """Whether several processes need a rendezvous, held on the chief, before they start."""

    def processes(self, member: GangMember) -> int:
        """How many processes a member runs; at least one, also without slots."""

    def hosts(self, members: Sequence[GangMember]) -> str:
        """What the rendezvous must know of the members."""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """Return a process's own variables. `rendezvous` is None where the run has one process, or its kind does not meet."""

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """Return the variables that name the network interface; what the user's config says comes before them."""

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """Return the variables that say where the backend's own threads run, where slots are cores: `cores` are this machine's."""


def processes_per_slot(member: GangMember) -> int:
    """One for each slot, and one where there is none."""
    return max(1, member.slots)


def communication(interface: str, on_gpu: bool) -> dict[str, str]:
    """What Gloo (as PyTorch uses it) and NCCL read of the interface. NCCL takes a bare name as a beginning: `=` says all of it."""
    nccl = {"NCCL_SOCKET_IFNAME": f"={interface}"} if on_gpu else {}
    return {"GLOO_SOCKET_IFNAME": interface, **nccl}
