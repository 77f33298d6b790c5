"""`distributed: torch`: a rank for each slot; they join a store held on the chief, as under `torchrun`. Pure."""

from collections.abc import Sequence

from muster.config.optimizations import Optimizations
from shared.messages.specs import GangMember
from worker.core.gang.backends.port import RankPosition, Rendezvous, communication, processes_per_slot


class Torch:
    """`torch.distributed.init_process_group()` needs no argument: all that its `env://` reads is set, for one rank too."""

    meets = True

    def processes(self, member: GangMember) -> int:
        """A rank for each slot."""
        return processes_per_slot(member)

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Nothing: a store knows no members."""
        return ""

    def variables(
        self, place: RankPosition, meeting: Rendezvous | None, told: Optimizations
    ) -> dict[str, str]:
        """As the port says. Without a meeting the one rank holds the store itself, on a port that the system chooses."""
        seat = place.seat
        return {
            "RANK": str(place.rank),
            "WORLD_SIZE": str(seat.size),
            "LOCAL_RANK": str(place.local),
            "LOCAL_WORLD_SIZE": str(seat.ranks),
            "GROUP_RANK": str(seat.index),
            "GROUP_WORLD_SIZE": str(seat.members),
            "MASTER_ADDR": meeting.address if meeting else "127.0.0.1",
            "MASTER_PORT": str(meeting.port if meeting else 0),
            "TORCHELASTIC_USE_AGENT_STORE": str(meeting is not None),
        }

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """As the port says."""
        return communication(interface, on_gpu)

    def threads(self, place: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """None of its own."""
        return {}
