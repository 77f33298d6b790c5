"""`distributed: none`: one process for each member, with all of its slots; whether and how they talk is the user's launcher's. Pure."""

from collections.abc import Sequence
from zlib import crc32

from muster import wire
from muster.config.optimizations import Optimizations
from shared.messages.specs import GangMember
from worker.core.gang.backends.port import RankPosition, Rendezvous, communication

FIRST_PORT, PORTS = 20_000, 12_000
"""Below those that systems give out by themselves."""


class NoBackend:
    """What `torchrun`, `accelerate launch` or a launcher of the user's own must know stands in variables."""

    needs_rendezvous = False

    def processes(self, member: GangMember) -> int:
        """One, whatever its slots."""
        return 1

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Nothing: there is no rendezvous."""
        return ""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """As the port says: Muster's own names, and those that `torchrun` takes for its options (`PET_…`)."""
        assignment, members = position.assignment, position.members
        slots, chief = max(1, members[assignment.index].slots), members[0].address
        own = {
            wire.ENV_NODE: str(assignment.index),
            wire.ENV_NODES: str(assignment.members),
            wire.ENV_SLOTS: str(slots),
            wire.ENV_ADDRESSES: ",".join(member.address for member in members),
        }
        if assignment.members == 1:
            return {**own, "PET_NPROC_PER_NODE": str(slots), "PET_STANDALONE": "1"}
        port = _port(position.run)
        return {
            **own,
            "MASTER_ADDR": chief,
            "MASTER_PORT": port,
            "NODE_RANK": str(assignment.index),
            "PET_NPROC_PER_NODE": str(slots),
            "PET_NNODES": str(assignment.members),
            "PET_NODE_RANK": str(assignment.index),
            "PET_MASTER_ADDR": chief,
            "PET_MASTER_PORT": port,
        }

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """As the port says."""
        return communication(interface, on_gpu)

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """None of its own."""
        return {}


def _port(run: str) -> str:
    """A port that all members know without asking, and another at each start: one that is taken costs an attempt, not the trial."""
    return str(FIRST_PORT + crc32(run.encode()) % PORTS)
