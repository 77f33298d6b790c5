"""`distributed: torch`: one rank per slot; ranks join a store held by the chief, as under `torchrun`. Pure."""

from collections.abc import Sequence

from muster.config.optimizations import Optimizations
from shared.messages.trial_specs import GangMember
from worker.core.gang.backends.interface import RankPosition, Rendezvous, communication, processes_per_slot


class Torch:
    """Sets everything that `env://` reads, also for one rank, so that `torch.distributed.init_process_group()` needs no argument."""

    needs_rendezvous = True

    def processes(self, member: GangMember) -> int:
        """Return one rank per slot."""
        return processes_per_slot(member)

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Return an empty string: a store has no member list."""
        return ""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """Return the variables. Without a rendezvous the only rank hosts the store itself, on a free port."""
        assignment = position.assignment
        return {
            "RANK": str(position.rank),
            "WORLD_SIZE": str(assignment.size),
            "LOCAL_RANK": str(position.local),
            "LOCAL_WORLD_SIZE": str(assignment.ranks),
            "GROUP_RANK": str(assignment.index),
            "GROUP_WORLD_SIZE": str(assignment.members),
            "MASTER_ADDR": rendezvous.address if rendezvous else "127.0.0.1",
            "MASTER_PORT": str(rendezvous.port if rendezvous else 0),
            "TORCHELASTIC_USE_AGENT_STORE": str(rendezvous is not None),
        }

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """Return the interface variables."""
        return communication(interface, on_gpu)

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """Return nothing: this backend has no threads of its own."""
        return {}
