"""`distributed: torch`: a rank for each slot; they join a store held on the chief, as under `torchrun`. Pure."""

from collections.abc import Sequence

from muster.config.optimizations import Optimizations
from shared.messages.specs import GangMember
from worker.core.gang.backends.port import RankPosition, Rendezvous, communication, processes_per_slot


class Torch:
    """`torch.distributed.init_process_group()` needs no argument: all that its `env://` reads is set, for one rank too."""

    needs_rendezvous = True

    def processes(self, member: GangMember) -> int:
        """A rank for each slot."""
        return processes_per_slot(member)

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Nothing: a store knows no members."""
        return ""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """As the port says. Without a meeting the one rank holds the store itself, on a port that the system chooses."""
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
        """As the port says."""
        return communication(interface, on_gpu)

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """None of its own."""
        return {}
