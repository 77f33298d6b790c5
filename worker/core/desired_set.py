"""Compares a desired set with the local runs: epoch fencing, and new, known, dropped and orphaned runs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.config.optimizations import Distributed
from muster.errors import Rejected
from shared.ids import AllocationId, WorkerId
from worker.core.gang.assignment import Formation, Gang
from worker.core.gang.members import assign_ranks
from worker.core.run.desired import Desired
from worker.core.run.records import LocalRun, Request
from worker.core.run.reducers import on_desired, on_dropped
from worker.core.run.resize import is_new_formation, on_formation

ORPHAN_AFTER_S = 1800.0
UNSENT_DATA_FACTOR = 8
"""Multiplies the silence limit of a rented machine while reports or checkpoints are unsent: no other copy of them exists."""


DEPOSED = "deposed_leader"
FREE_TERMS = 1000
"""Epochs that the lease's history may increase beyond one per second, as a lease that is released and acquired at once does."""
CLOCK_TOLERANCE = timedelta(days=1)
"""How far the scheduler's clock may be ahead of the worker's."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The leader that sent a desired set: its epoch, when that began, and a number that increases with each set. `key` signed it."""

    epoch: int
    sequence: int
    since: datetime | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """The sender of the last accepted set, and of the first one that the same key signed. Persisted, so that no set is accepted twice."""

    epoch: int = 0
    sequence: int = -1
    key: str = ""
    first: Sender | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying a desired set: changed runs, and runs that are new on this worker."""

    changed: tuple[LocalRun, ...]
    new: tuple[LocalRun, ...]


def pass_gate(gate: Gate, sender: Sender, now: datetime) -> Gate:
    """Return the gate after a set. A set that another key signed starts anew: sets of the former key are not accepted any more.

    Raises:
        Rejected: The set comes from a deposed leader (`deposed_leader`), is not newer than the last one (`replayed_set`), or has an epoch that
            the lease cannot have reached since the first set (`epoch_implausible`).
    """
    if gate.key and gate.key != sender.key:
        gate = Gate()
    if sender.epoch < gate.epoch:
        raise Rejected(
            DEPOSED, f"a desired set has epoch {sender.epoch}, and the worker knows epoch {gate.epoch}"
        )
    if sender.epoch == gate.epoch and sender.sequence <= gate.sequence:
        raise Rejected(
            "replayed_set",
            f"desired set {sender.sequence} of epoch {sender.epoch} is not newer than set {gate.sequence}",
        )
    first = gate.first or sender
    _check_epoch(first, sender, now)
    return Gate(sender.epoch, sender.sequence, sender.key, first)


def _check_epoch(first: Sender, sender: Sender, now: datetime) -> None:
    """Each epoch is a lease that was acquired after the one before, so epochs cannot increase faster than time passes."""
    if sender.since is None or first.since is None:
        raise Rejected("epoch_implausible", "a desired set does not name the start of its leader's term")
    if sender.since > now + CLOCK_TOLERANCE:
        raise Rejected(
            "epoch_implausible",
            f"a desired set's leader leads since {sender.since:%Y-%m-%d %H:%M} UTC, which is in the future",
            hint="set the clocks of the scheduler and of this machine",
        )
    elapsed_s = max(0.0, (sender.since - first.since).total_seconds())
    if sender.epoch - first.epoch > FREE_TERMS + elapsed_s:
        raise Rejected(
            "epoch_implausible",
            f"a desired set has epoch {sender.epoch}; {elapsed_s:.0f} s after epoch {first.epoch} no lease has reached it",
            hint="if the scheduler's key was stolen, rotate it: `muster keys rotate --account`",
        )


def apply_desired(
    runs: Mapping[AllocationId, LocalRun], allocations: Sequence[Desired], worker: WorkerId
) -> Applied:
    """Apply a set that passed the gate. Skip an unknown allocation that came without its spec; the reply then does not list it.

    Raises:
        Rejected: An allocation does not name this worker as a member.
    """
    changed: list[LocalRun] = []
    new: list[LocalRun] = []
    for desired in allocations:
        known = runs.get(desired.allocation_id)
        if known is not None:
            after = _change(known, desired, worker)
            if after != known:
                changed.append(after)
        elif desired.distributed is not None:
            new.append(begin_run(desired, desired.distributed, worker))
    named = {desired.allocation_id for desired in allocations}
    dropped = (run for run in runs.values() if run.allocation_id not in named and not run.request.dropped)
    return Applied((*changed, *map(on_dropped, dropped)), tuple(new))


def begin_run(desired: Desired, distributed: Distributed, worker: WorkerId) -> LocalRun:
    """Return the state of a run that is new on this worker. If its gang already trains, the ranks start on standby to join it."""
    assignment = assign_ranks(desired.members, worker, distributed)
    generation = desired.generation
    return LocalRun(
        allocation_id=desired.allocation_id,
        run_id=desired.run_id,
        token=desired.token,
        gang=Gang(
            generation,
            assignment,
            rendezvous=None if assignment.is_chief else desired.rendezvous,
            formation=Formation(generation, assignment, stands_by=True) if generation > 1 else None,
        ),
        request=Request(desired.signal, desired.decide_at, desired.preemption_timeout_s),
    )


def is_orphaned(last_contact_at: float, now: float, orphan_after_s: float = ORPHAN_AFTER_S) -> bool:
    """Whether the scheduler has been silent long enough to have given up the ranks on this machine."""
    return now - last_contact_at >= orphan_after_s


@dataclass(frozen=True, slots=True)
class Workload:
    """Why a machine must stay: runs that have not ended, and data of ended runs that the platform has not received."""

    has_runs: bool
    has_unsent: bool


def is_abandoned(silent_s: float, limit_s: float | None, workload: Workload) -> bool:
    """Whether a rented machine must shut down: no scheduler contact and no runs. `limit_s` None: the machine is not rented."""
    if limit_s is None or workload.has_runs:
        return False
    return silent_s >= limit_s * (UNSENT_DATA_FACTOR if workload.has_unsent else 1)


def _change(known: LocalRun, desired: Desired, worker: WorkerId) -> LocalRun:
    if not known.is_over:
        after = on_formation(known, desired, worker) if is_new_formation(known, desired) else known
        return on_desired(after, desired)
    # The worker was a member of the gang before and joins again: the scheduler must start a new allocation record.
    is_another = desired.generation > known.gang.generation
    return on_dropped(known) if is_another else known
