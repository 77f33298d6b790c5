"""Compares a desired set with the local runs: epoch fencing, and new, known, dropped and orphaned runs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.config.optimizations import Distributed
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


@dataclass(frozen=True, slots=True)
class Gate:
    """The highest epoch seen (persisted), and the newest sequence number of that epoch."""

    epoch: int = 0
    sequence: int = -1


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying a desired set: changed runs, and runs that are new on this worker."""

    changed: tuple[LocalRun, ...]
    new: tuple[LocalRun, ...]


def pass_gate(gate: Gate, epoch: int, sequence: int) -> Gate | None:
    """Return the gate after a set, or None if the set is older than the last applied one or comes from a deposed leader."""
    if epoch < gate.epoch or (epoch == gate.epoch and sequence < gate.sequence):
        return None
    return Gate(epoch, sequence)


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
