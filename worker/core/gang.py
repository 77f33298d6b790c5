"""Who is which rank: numbers through the members in their order, and what Horovod is told about them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.errors import Rejected
from shared.ids import WorkerId
from shared.messages.specs import Member
from worker.core.run import Seat

_LOCK_FREE_CPU = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo"}


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where and through which interface a gang meets."""

    address: str
    port: int
    interface: str


def take_seat(members: Sequence[Member], worker: WorkerId) -> Seat:
    """Find this worker's part of the gang. A member without slots runs one process all the same.

    Raises:
        Rejected: This worker is no member (`no_member`).
    """
    first = 0
    size = sum(_ranks(member) for member in members)
    for index, member in enumerate(members):
        if member.worker == worker:
            return Seat(index, len(members), first, _ranks(member), size)
        first += _ranks(member)
    raise Rejected("no_member", f"worker {worker} is no member of this run's gang")


def horovod_hosts(members: Sequence[Member]) -> str:
    """The gang as Horovod writes it. Names are ours: two workers on one machine are two hosts to it."""
    return ",".join(f"{host_name(index)}:{_ranks(member)}" for index, member in enumerate(members))


def host_name(index: int) -> str:
    """The name of a member for Horovod."""
    return f"m{index}"


def horovod_environment(
    members: Sequence[Member], seat: Seat, local_rank: int, meeting: Meeting
) -> dict[str, str]:
    """The variables of one rank. Cross ranks count the members that have such a local rank, as Horovod's own assignment does."""
    peers = [index for index, member in enumerate(members) if _ranks(member) > local_rank]
    return {
        "HOROVOD_RANK": str(seat.first_rank + local_rank),
        "HOROVOD_SIZE": str(seat.size),
        "HOROVOD_LOCAL_RANK": str(local_rank),
        "HOROVOD_LOCAL_SIZE": str(seat.ranks),
        "HOROVOD_CROSS_RANK": str(peers.index(seat.index)),
        "HOROVOD_CROSS_SIZE": str(len(peers)),
        "HOROVOD_HOSTNAME": host_name(seat.index),
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": meeting.address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(meeting.port),
        "HOROVOD_GLOO_IFACE": meeting.interface,
        **_LOCK_FREE_CPU,
    }


def parse_address(text: str) -> tuple[str, int]:
    """`host:port` in two parts; raises ValueError where it is none."""
    host, separator, port = text.rpartition(":")
    if not separator or not host:
        raise ValueError(f"{text!r} is no host:port")
    return host, int(port)


def _ranks(member: Member) -> int:
    return max(1, member.slots)
