"""`distributed: horovod`: one rank per slot; ranks find each other through Horovod's own rendezvous. Pure."""

from collections.abc import Sequence

from muster.config.optimizations import Optimizations
from shared.messages.trial_specs import GangMember
from worker.core.gang.backends.interface import RankPosition, Rendezvous, communication, processes_per_slot

_LOCK_FREE_CPU = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo"}


class Horovod:
    """Host names are synthetic: two workers on one machine count as two hosts."""

    needs_rendezvous = True

    def processes(self, member: GangMember) -> int:
        """Return one rank per slot."""
        return processes_per_slot(member)

    def hosts(self, members: Sequence[GangMember]) -> str:
        """Return the members in Horovod's host list format."""
        return ",".join(f"{_host(index)}:{self.processes(member)}" for index, member in enumerate(members))

    def variables(
        self, position: RankPosition, rendezvous: Rendezvous | None, optimizations: Optimizations
    ) -> dict[str, str]:
        """Return the variables. Cross ranks count the members that have this local rank, as in Horovod's own assignment."""
        if rendezvous is None:
            return {}
        assignment, local = position.assignment, position.local
        peers = [index for index, member in enumerate(position.members) if self.processes(member) > local]
        return {
            **optimizations.variables(),
            "HOROVOD_RANK": str(position.rank),
            "HOROVOD_SIZE": str(assignment.size),
            "HOROVOD_LOCAL_RANK": str(local),
            "HOROVOD_LOCAL_SIZE": str(assignment.ranks),
            "HOROVOD_CROSS_RANK": str(peers.index(assignment.index)),
            "HOROVOD_CROSS_SIZE": str(len(peers)),
            "HOROVOD_HOSTNAME": _host(assignment.index),
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": rendezvous.address,
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(rendezvous.port),
            **_LOCK_FREE_CPU,
        }

    def network(self, interface: str, on_gpu: bool) -> dict[str, str]:
        """Return the variables, including Horovod's own name for the interface."""
        return {"HOROVOD_GLOO_IFACE": interface, **communication(interface, on_gpu)}

    def threads(self, position: RankPosition, cores: Sequence[int]) -> dict[str, str]:
        """Pin each rank's communication thread to the core of the rank's slot. Unpinned, the kernel wakes the thread next to the rank that sent the
        message, and ranks that could train in parallel run one after the other (decision 0214). Return nothing if there are fewer cores than ranks."""
        mine = position.members[position.assignment.index]
        here = [member for member in position.members if member.address == mine.address]
        ranks = sum(map(self.processes, here))
        if position.assignment.size == 1 or ranks > len(cores):
            return {}
        first = sum(self.processes(member) for member in here[: here.index(mine)])
        numbers: Sequence[int] = range(first, first + position.assignment.ranks)
        if len(here) == 1 and max(mine.slot_ids, default=len(cores)) < len(cores):
            numbers = mine.slot_ids
        return {"HOROVOD_THREAD_AFFINITY": ",".join(str(cores[number]) for number in numbers)}


def _host(index: int) -> str:
    return f"m{index}"
