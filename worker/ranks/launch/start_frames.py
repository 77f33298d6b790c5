"""Frames that start an allocation's processes."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from shutil import which
from types import MappingProxyType

from muster import wire
from shared.messages.allocations import DesiredAllocation
from worker.core.gang.members import BACKENDS
from worker.core.process_names import HOOK, RENDEZVOUS, process_name
from worker.core.run.records import LocalRun
from worker.machine.host import Machine
from worker.paths import RunPaths
from worker.ranks.launch.environment import (
    plain_environment,
    rank_environment,
    rejoin_environment,
    threads_of,
)
from worker.ranks.launch.gang_addresses import own_address
from worker.ranks.launch.trial_file import is_elastic, spec_of
from worker.sandbox.accounts import Account

OPEN_FILES = 65_536
_IN_ANY_SHELL = ["/bin/sh", "-c", 'command -v bash > /dev/null && exec bash "$0"; exec sh "$0"']
"""Runs a script by bash if an image has it."""
NO_SECRETS: Mapping[str, str] = MappingProxyType({})


def rendezvous_frame(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> wire.OpenRendezvous:
    """Return the order for the gang's rendezvous, bound to this worker's address in the gang."""
    distributed = spec_of(allocation).distributed
    return wire.OpenRendezvous(
        name=process_name(run.run_id, run.gang.generation, RENDEZVOUS),
        run=str(run.run_id),
        hosts=BACKENDS[distributed].hosts(allocation.members),
        size=run.gang.next_assignment.size,
        address=own_address(run, allocation, machine),
        backend=distributed,
        sandbox=asdict(machine.sandbox) if machine.sandbox else None,
    )


def hook_frame(
    run: LocalRun,
    allocation: DesiredAllocation,
    paths: RunPaths,
    machine: Machine,
    script: str,
    secrets: Mapping[str, str],
) -> wire.Launch:
    """Return the order for the startup hook; its output goes to the log of this machine's first rank."""
    rank, account = run.gang.assignment.first_rank, _user_of(machine)
    return wire.Launch(
        name=process_name(run.run_id, run.gang.generation, HOOK),
        run=str(run.run_id),
        command=[*_IN_ANY_SHELL, script] if machine.is_container else [which("bash") or "/bin/sh", script],
        directory=str(paths.code),
        stdout=str(paths.output(rank, "stdout")),
        stderr=str(paths.output(rank, "stderr")),
        environment={**secrets, **plain_environment(allocation, paths, machine)},
        user=account.user if account else None,
        group=account.group if account else None,
        sandbox=machine.sandbox,
        limits=_limits(machine, allocation.members[run.gang.assignment.index].slots),
        cgroups=machine.cgroups.procs_files(run.run_id),
        niceness=machine.niceness,
    )


def rank_frames(
    run: LocalRun,
    allocation: DesiredAllocation,
    paths: RunPaths,
    machine: Machine,
    token: str,
    locals_: Iterable[int] | None = None,
    secrets: Mapping[str, str] = NO_SECRETS,
) -> list[wire.Launch]:
    """Return one launch per local rank; `locals_` None: all ranks. `secrets`: environment variables that no record may contain."""
    wanted = range(run.gang.assignment.ranks) if locals_ is None else locals_
    frames = [_rank_frame(local, run, allocation, paths, machine, token) for local in wanted]
    return [replace(frame, environment={**secrets, **frame.environment}) for frame in frames]


def assignment_frame(
    local: int, run: LocalRun, allocation: DesiredAllocation, machine: Machine
) -> wire.Join | wire.Leave:
    """Return a rank's assignment in the forming gang, or the request to leave."""
    formation = run.gang.formation
    if formation is None or formation.assignment is None or local >= run.local_ranks or not run.ranks.births:
        return wire.Leave(run.gang.generation)
    return wire.Join(run.gang.generation, rejoin_environment(local, run, allocation, machine))


def _rank_frame(
    local: int, run: LocalRun, allocation: DesiredAllocation, paths: RunPaths, machine: Machine, token: str
) -> wire.Launch:
    spec = spec_of(allocation)
    rank = run.gang.next_assignment.first_rank + local
    account = _user_of(machine)
    on_gpu = machine.kind != "cpu"
    entrypoint = spec.entrypoint if isinstance(spec.entrypoint, str) else list(spec.entrypoint)
    return wire.Launch(
        name=process_name(run.run_id, run.gang.generation, local),
        run=str(run.run_id),
        command=entrypoint,
        directory=str(paths.code),
        stdout=str(paths.output(rank, "stdout")),
        stderr=str(paths.output(rank, "stderr")),
        environment=rank_environment(local, run, allocation, paths, machine)
        | {
            wire.ENV_TRIAL: str(paths.trial_file),
            wire.ENV_TOKEN: token if local == 0 or is_elastic(spec) else "",
        },
        token=token,
        interpreter=machine.interpreter,
        threads=0 if on_gpu or "OMP_NUM_THREADS" in spec.environment else threads_of(run, allocation),
        user=account.user if account else None,
        group=account.group if account else None,
        sandbox=machine.sandbox,
        limits=_limits(machine, allocation.members[run.gang.next_assignment.index].slots),
        cgroups=machine.cgroups.procs_files(run.run_id),
        niceness=machine.niceness,
    )


def _user_of(machine: Machine) -> Account | None:
    """Return the user that a process changes to; a container's processes already have theirs."""
    return None if machine.is_container else machine.account


def _limits(machine: Machine, slots: int) -> dict[str, int]:
    """Return a rank's resource limits: no core files, open files, file size; in a sandbox also processes, which the kernel counts per
    user, and memory where no control group limits it. That is data, not address space: a mapped GPU is not memory use."""
    limits = {"core": 0, "nofile": OPEN_FILES}
    if machine.run_bytes is not None:
        limits["fsize"] = machine.run_bytes
    if machine.sandbox is not None:
        bounds = machine.cgroups.bounds.of(slots)
        limits["nproc"] = bounds["pids"]
        if not machine.cgroups.limits_memory:
            limits["data"] = bounds["memory"]
    return limits
