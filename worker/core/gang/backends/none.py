"""`distributed: none`: one process per member, with all of its slots; the user's launcher handles communication. Pure."""

from collections.abc import Sequence
from zlib import crc32

from muster import wire
from muster.config.optimizations import Optimizations
from shared.messages.trial_specs import GangMember
from worker.core.gang.backends.interface import RankPosition, Rendezvous, communication

FIRST_PORT, PORTS = 20_000, 12_000
"""Below the ephemeral port range of common systems."""


class NoBackend:
    """Passes what `torchrun`, `accelerate launch` or a custom launcher needs in environment variables."""

    needs_rendezvous = False

    def processes(self, member: GangMember) -> int:
        """Return 1 for any number of slots."""
        return 1

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Return an empty string: there is no rendezvous."""
        return ""

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """Return Muster's own variables and the ones that `torchrun` reads as options (`PET_…`)."""
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
        """Return the interface variables."""
        return communication(interface, on_gpu)

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """Return nothing: this backend has no threads of its own."""
        return {}


def _port(run: str) -> str:
    """Return a port that all members derive from the run's name, different at each start: a port in use costs one attempt, not the trial."""
    return str(FIRST_PORT + crc32(run.encode()) % PORTS)
