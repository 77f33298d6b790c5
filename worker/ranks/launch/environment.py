"""The environment variables of one rank: machine, user, and gang."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muster import wire
from muster.config.optimizations import Optimizations
from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import WHOLE_SLOT
from worker.core.gang.backends.interface import RankPosition, Rendezvous
from worker.core.gang.members import BACKENDS, parse_address
from worker.core.run.records import LocalRun
from worker.machine.host import Machine
from worker.paths import RunPaths
from worker.ranks.launch.gang_addresses import interface_of, members_of
from worker.ranks.launch.trial_file import is_elastic, spec_of

# malloc keeps up to a GiB of freed memory: returning it at every step would cost page faults in the next one.
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
_RESERVED = "MUSTER_"


def rank_environment(
    local: int, run: LocalRun, allocation: DesiredAllocation, paths: RunPaths, machine: Machine
) -> dict[str, str]:
    """Return the variables of a rank by its local number."""
    spec = spec_of(allocation)
    assignment = run.gang.next_assignment
    position = _position(local, run, allocation, machine)
    environment = {
        **_own_part(paths, machine),
        **KEPT_MEMORY,
        **_network(allocation, run, machine),
        **_users_part(spec.environment),
        wire.ENV_RANK: str(position.rank),
        wire.ENV_LOCAL_RANK: str(local),
    }
    mine = allocation.members[assignment.index]
    if mine.fraction or not mine.slots:
        environment[wire.ENV_SLOT_SHARE] = f"{mine.fraction / WHOLE_SLOT:g}"
    gpus = mine.slot_ids if machine.kind != "cpu" else ()
    environment |= _visible_gpus(range(len(gpus)) if machine.is_container else gpus)
    if machine.kind == "cpu":
        environment.setdefault("OMP_NUM_THREADS", str(threads_of(run, allocation)))
    if is_elastic(spec):
        environment[wire.ENV_GENERATION] = str(run.gang.generation)
    if run.gang.formation is not None:
        return environment | {wire.ENV_STANDBY: str(assignment.size)}
    optimizations = Optimizations.model_validate(spec.optimizations)
    backend = BACKENDS[spec.distributed]
    return (
        backend.threads(_machine_position(local, run, allocation), machine.cores)
        | environment
        | backend.variables(position, _rendezvous(run), optimizations)
    )


def plain_environment(allocation: DesiredAllocation, paths: RunPaths, machine: Machine) -> dict[str, str]:
    """Return the variables of a process that is not a rank."""
    return {**_own_part(paths, machine), **_users_part(spec_of(allocation).environment)}


def rejoin_environment(
    local: int, run: LocalRun, allocation: DesiredAllocation, machine: Machine
) -> dict[str, str]:
    """Return the variables that give a rank its assignment and rendezvous in the forming gang."""
    spec = spec_of(allocation)
    backend, optimizations = BACKENDS[spec.distributed], Optimizations.model_validate(spec.optimizations)
    rendezvous = Rendezvous(*parse_address(run.gang.rendezvous or ""))
    position = _position(local, run, allocation, machine)
    threads = backend.threads(_machine_position(local, run, allocation), machine.cores)
    own = _network(allocation, run, machine) | threads
    left = {name: value for name, value in own.items() if name not in spec.environment}
    return left | backend.variables(position, rendezvous, optimizations)


def threads_of(run: LocalRun, allocation: DesiredAllocation) -> int:
    """Return the number of cores per process, if slots are cores."""
    assignment = run.gang.next_assignment
    return max(1, allocation.members[assignment.index].slots // assignment.ranks)


def _position(local: int, run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> RankPosition:
    return replace(_machine_position(local, run, allocation), members=members_of(run, allocation, machine))


def _machine_position(local: int, run: LocalRun, allocation: DesiredAllocation) -> RankPosition:
    """Return the position with the machines' addresses, which show which members share a machine."""
    return RankPosition(
        f"{run.run_id}.{run.gang.generation}", allocation.members, run.gang.next_assignment, local
    )


def _network(allocation: DesiredAllocation, run: LocalRun, machine: Machine) -> dict[str, str]:
    """Return the interface variables; none for a run on one machine with one process."""
    if run.gang.next_assignment.size == 1 and run.gang.next_assignment.meets:
        return {}
    interface = interface_of(run, allocation, machine)
    return BACKENDS[spec_of(allocation).distributed].network(interface, machine.kind != "cpu")


def _visible_gpus(slot_ids: Sequence[int]) -> dict[str, str]:
    """Expose only the run's GPUs, by nvidia-smi's numbers: CUDA's default order starts with the fastest. CPU slots expose none, even if the
    machine has GPUs."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, slot_ids))}


def _own_part(paths: RunPaths, machine: Machine) -> dict[str, str]:
    # Caches contain code that programs load: they are the run's own, and end with it.
    cache = paths.home / ".cache"
    homes = {
        "HOME": str(paths.home),
        "TMPDIR": "/tmp" if machine.sandbox else str(paths.temporary),  # noqa: S108 - the run's own
        "XDG_CACHE_HOME": str(cache),
        "TRITON_HOME": str(paths.home),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torchinductor"),
        "CUDA_CACHE_PATH": str(cache / "cuda"),
    }
    if machine.sandbox:
        homes |= {"USER": "muster", "LOGNAME": "muster"}
    system = {"PATH": machine.path, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    return {**machine.libraries, **homes, **system, wire.ENV_TENSORBOARD: str(paths.tensorboard)}


def _users_part(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(_RESERVED)}


def _rendezvous(run: LocalRun) -> Rendezvous | None:
    return Rendezvous(*parse_address(run.gang.rendezvous or "")) if run.gang.assignment.is_gang else None
