"""The frames that start an allocation's processes."""

from muster import wire
from shared.messages.allocations import DesiredAllocation
from worker.core.gang import BACKENDS
from worker.core.run import LocalRun
from worker.launch.description import spec_of
from worker.launch.environment import rank_environment, threads_of
from worker.launch.machine import Machine
from worker.places import RunPlaces

RENDEZVOUS = "rendezvous"
_OPEN_FILES = 65_536


def process_name(run: LocalRun, part: str | int) -> str:
    """Unique for ever: a run is launched once per generation."""
    return f"{run.run_id}.{run.generation}.{part}"


def part_of(name: str) -> str:
    """The last part of a process's name: a local rank's number, or `rendezvous`."""
    return name.rsplit(".", 1)[-1]


def rendezvous_frame(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> wire.OpenRendezvous:
    """Ask for the gang's rendezvous, bound to this machine's address in it."""
    distributed = spec_of(allocation).distributed
    return wire.OpenRendezvous(
        name=process_name(run, RENDEZVOUS),
        run=str(run.run_id),
        hosts=BACKENDS[distributed].hosts(allocation.members),
        size=run.seat.size,
        address=machine.address,
        backend=distributed,
    )


def rank_frames(
    run: LocalRun, allocation: DesiredAllocation, places: RunPlaces, machine: Machine, token: str
) -> list[wire.Launch]:
    """One launch for each rank of this worker."""
    return [_rank_frame(local, run, allocation, places, machine, token) for local in range(run.seat.ranks)]


def _rank_frame(
    local: int, run: LocalRun, allocation: DesiredAllocation, places: RunPlaces, machine: Machine, token: str
) -> wire.Launch:
    spec = spec_of(allocation)
    rank = run.seat.first_rank + local
    account = machine.account
    on_gpu = machine.kind != "cpu"
    entrypoint = spec.entrypoint if isinstance(spec.entrypoint, str) else list(spec.entrypoint)
    return wire.Launch(
        name=process_name(run, local),
        run=str(run.run_id),
        command=entrypoint,
        directory=str(places.code),
        stdout=str(places.output(rank, "stdout")),
        stderr=str(places.output(rank, "stderr")),
        environment=rank_environment(local, run, allocation, places, machine)
        | {wire.ENV_TRIAL: str(places.trial_file), wire.ENV_TOKEN: token if local == 0 else ""},
        token=token,
        threads=0 if on_gpu or "OMP_NUM_THREADS" in spec.environment else threads_of(run, allocation),
        user=account.user if account else None,
        group=account.group if account else None,
        limits={"core": 0, "nofile": _OPEN_FILES},
    )
