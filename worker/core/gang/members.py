"""Assigns ranks to the members of a gang, in member order, by launch backend. Pure."""

from collections.abc import Mapping, Sequence

from muster.config.optimizations import Distributed
from muster.errors import Rejected
from shared.ids import WorkerId
from shared.messages.trial_specs import GangMember
from worker.core.gang.assignment import RankAssignment
from worker.core.gang.backends.horovod import Horovod
from worker.core.gang.backends.interface import Backend
from worker.core.gang.backends.none import NoBackend
from worker.core.gang.backends.torch import Torch

BACKENDS: Mapping[Distributed, Backend] = {"horovod": Horovod(), "torch": Torch(), "none": NoBackend()}


def assign_ranks(members: Sequence[GangMember], worker: WorkerId, distributed: Distributed) -> RankAssignment:
    """Return this worker's ranks in the gang.

    Raises:
        Rejected: This worker is not a member (`no_member`).
    """
    backend = BACKENDS[distributed]
    first = 0
    size = sum(backend.processes(member) for member in members)
    for index, member in enumerate(members):
        ranks = backend.processes(member)
        if member.worker == worker:
            return RankAssignment(index, len(members), first, ranks, size, backend.needs_rendezvous)
        first += ranks
    raise Rejected("no_member", f"worker {worker} is not a member of this run's gang")


def parse_address(text: str) -> tuple[str, int]:
    """Split `host:port`. Raises ValueError for any other text."""
    host, separator, port = text.rpartition(":")
    if not separator or not host:
        raise ValueError(f"{text!r} is not a host:port address")
    return host, int(port)
