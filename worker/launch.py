"""From an allocation to the frames that start its processes."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from muster import wire
from muster.config.sections import Optimizations
from muster.errors import Rejected
from shared.ids import WorkerId
from shared.messages.allocations import DesiredAllocation
from shared.messages.specs import WHOLE_SLOT, SlotKind, TrialSpec
from worker.core.gang import Meeting, horovod_environment, horovod_hosts, parse_address
from worker.core.run import LocalRun
from worker.places import RunPlaces

RENDEZVOUS = "rendezvous"
# What training frees stays with its process, up to a GiB: given back at every step it must be cleared and mapped again in the next.
_KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
_OPEN_FILES = 65_536
_RESERVED = ("MUSTER_", "HOROVOD_")


@dataclass(frozen=True, slots=True)
class Account:
    """The user that trials run as."""

    user: int
    group: int

    def own(self, places: RunPlaces) -> None:
        """Give the run's directories to this user, and let it pass to them."""
        places.root.chmod(0o711)
        for folder in (places.code, places.home, places.checkpoints, places.logs, places.latest):
            for path in (folder, *folder.rglob("*")) if folder.exists() else ():
                os.chown(path, self.user, self.group, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Machine:
    """What every launch here has in common. `disk` is the worker's folder."""

    worker: WorkerId
    disk: Path
    address: str
    socket: Path
    path: str
    kind: SlotKind
    account: Account | None

    @property
    def full_text(self) -> str:
        """The sentence about its disk when that is full."""
        return wire.disk_full_text(self.worker, self.disk)

    def words(self, error: OSError) -> str:
        """What an error of its disk means to people."""
        if wire.is_disk_full(error):
            return self.full_text
        return f"worker {self.worker} cannot write to its disk: {error.strerror or error}"

    def has_room(self, needed_bytes: int) -> bool:
        """Whether its disk has room for so much."""
        return shutil.disk_usage(self.disk).free >= needed_bytes


def find_account(name: str | None) -> Account | None:
    """The account of a user name; None where none is set.

    Raises:
        Rejected: There is no such user, or this process may not become it.
    """
    if name is None:
        return None
    if os.geteuid() != 0:
        raise Rejected("not_root", "only a worker that runs as root can run trials as another user")
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise Rejected("user_unknown", f"there is no user {name}", place="MUSTER_WORKER__USER") from None
    account = Account(found.pw_uid, found.pw_gid)
    _check_can_run(account, name)
    # What a rank must read lies in folders whose names it has to know; under a tighter mask it could not.
    os.umask(0o022)
    return account


def _check_can_run(account: Account, name: str) -> None:
    """A fork imports late: the user must reach this interpreter's library, or trials would fail at their first import."""
    command = [sys.executable, "-I", "-c", "import wave, muster"]
    try:
        subprocess.run(
            command,
            user=account.user,
            group=account.group,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise Rejected(
            "user_cannot_run",
            f"{name} cannot use {sys.executable}: {error}",
            hint="install Python and Muster where this user may read them, or unset MUSTER_WORKER__USER",
        ) from error


def process_name(run: LocalRun, part: str | int) -> str:
    """Unique for ever: a run is launched once per generation."""
    return f"{run.run_id}.{run.generation}.{part}"


def part_of(name: str) -> str:
    """The last part of a process's name: a local rank's number, or `rendezvous`."""
    return name.rsplit(".", 1)[-1]


def write_trial_file(
    places: RunPlaces, allocation: DesiredAllocation, run: LocalRun, machine: Machine, latest: Path | None
) -> None:
    """Write what ranks must know; it needs no daemon to be read."""
    spec = spec_of(allocation)
    description = wire.TrialFile(
        socket=str(machine.socket),
        size=run.seat.size,
        hparams=dict(spec.hyperparameters),
        seed=spec.seed,
        checkpoints=str(places.checkpoints),
        latest_checkpoint=str(latest) if latest else None,
        time_metric=spec.time_metric,
        data=dict(spec.data),
        horovod=run.seat.size > 1,
        worker=machine.worker,
        disk=str(machine.disk),
    )
    places.trial_file.write_text(wire.trial_file_text(description))


def rendezvous_frame(run: LocalRun, allocation: DesiredAllocation, machine: Machine) -> wire.OpenRendezvous:
    """Ask for Horovod's rendezvous, bound to this machine's address in the gang."""
    return wire.OpenRendezvous(
        name=process_name(run, RENDEZVOUS),
        run=str(run.run_id),
        hosts=horovod_hosts(allocation.members),
        size=run.seat.size,
        address=machine.address,
    )


def rank_frames(
    run: LocalRun, allocation: DesiredAllocation, places: RunPlaces, machine: Machine, token: str
) -> list[wire.Launch]:
    """One launch for each rank of this worker."""
    return [_rank_frame(local, run, allocation, places, machine, token) for local in range(run.seat.ranks)]


def spec_of(allocation: DesiredAllocation) -> TrialSpec:
    """The allocation's spec: a kept allocation always has it."""
    if allocation.spec is None:
        raise Rejected("spec_missing", f"allocation {allocation.allocation_id} came without its spec")
    return allocation.spec


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
        environment=_environment(local, run, allocation, places, machine)
        | {wire.ENV_TRIAL: str(places.trial_file), wire.ENV_TOKEN: token if rank == 0 else ""},
        token=token,
        threads=0 if on_gpu or "OMP_NUM_THREADS" in spec.environment else 1,
        user=account.user if account else None,
        group=account.group if account else None,
        limits={"core": 0, "nofile": _OPEN_FILES},
    )


def _environment(
    local: int, run: LocalRun, allocation: DesiredAllocation, places: RunPlaces, machine: Machine
) -> dict[str, str]:
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


def interface_of(address: str) -> str:
    """The network interface with this address; the loopback where none has it."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(found.address == address for found in addresses):
            return name
    return "lo"
