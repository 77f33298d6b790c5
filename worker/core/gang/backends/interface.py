"""The backend port: what a distributed training method contributes to a launch. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muster.config.optimizations import Optimizations
from shared.messages.trial_specs import GangMember
from worker.core.gang.assignment import RankAssignment


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """The address of a gang's rendezvous on the chief's machine."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class RankPosition:
    """One process of a run: the run's name (the same on all members, different at each start), the members, this machine's
    assignment, and the process's local number."""

    run: str
    members: Sequence[GangMember]
    assignment: RankAssignment
    local: int

    @property
    def rank(self) -> int:
        """The global rank."""
        return self.assignment.first_rank + self.local


class Backend(Protocol):
    """The implementation of one value of `distributed`."""

    @property
    def needs_rendezvous(self) -> bool:
        """Whether a gang of several processes needs a rendezvous, held by the chief, before it starts."""

    def processes(self, member: GangMember) -> int:
        """Return how many processes a member runs; at least one, even without slots."""

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Return the member list for the rendezvous."""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """Return the variables of a process. `rendezvous` is None for a run with one process and for backends without a rendezvous."""

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """Return the variables that name the network interface; the user's config takes precedence."""

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """Return the variables that pin the backend's own threads. `cores`: this machine's, if slots are cores."""


def processes_per_slot(member: GangMember) -> int:
    """Return one process per slot, and one for a member without slots."""
    return max(1, member.slots)


def communication(interface: str, on_gpu: bool) -> dict[str, str]:
    """Return the interface variables of Gloo (as PyTorch reads them) and NCCL. NCCL matches prefixes unless the name starts with `=`."""
    nccl = {"NCCL_SOCKET_IFNAME": f"={interface}"} if on_gpu else {}
    return {"GLOO_SOCKET_IFNAME": interface, **nccl}
