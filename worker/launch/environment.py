"""The environment of one rank: what it may see of the machine, what its user set, what its gang needs."""

from collections.abc import Mapping

from muster import wire
from muster.config.sections import Optimizations
from shared.messages.allocations import DesiredAllocation
from shared.messages.specs import WHOLE_SLOT
from worker.core.gang import Meeting, horovod_environment, parse_address
from worker.core.run import LocalRun
from worker.launch.description import spec_of
from worker.launch.machine import Machine, interface_of
from worker.places import RunPlaces

# What training frees stays with its process, up to a GiB: given back at every step it must be cleared and mapped again in the next.
_KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
_RESERVED = ("MUSTER_", "HOROVOD_")


def rank_environment(
    local: int, run: LocalRun, allocation: DesiredAllocation, places: RunPlaces, machine: Machine
) -> dict[str, str]:
    """The variables of the rank with this local number."""
    spec = spec_of(allocation)
    rank = run.seat.first_rank + local
    environment = {
        "PATH": machine.path,
        "HOME": str(places.home),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        **_KEPT_MEMORY,
        **_users_part(spec.environment),
        wire.ENV_RANK: str(rank),
        wire.ENV_LOCAL_RANK: str(local),
    }
    mine = allocation.members[run.seat.index]
    if mine.part:
        environment[wire.ENV_SLOT_PART] = f"{mine.part / WHOLE_SLOT:g}"
    if machine.kind != "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(slot) for slot in mine.slot_ids)
    else:
        environment.setdefault("OMP_NUM_THREADS", "1")
    if run.seat.size > 1:
        environment |= Optimizations.model_validate(spec.optimizations).variables()
        environment |= horovod_environment(allocation.members, run.seat, local, _meeting(run, machine))
    return environment


def _users_part(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(_RESERVED)}


def _meeting(run: LocalRun, machine: Machine) -> Meeting:
    host, port = parse_address(run.rendezvous or "")
    return Meeting(host, port, interface_of(machine.address))
