"""The desired set against what is here: fencing by epoch, which runs are new, known, dropped, orphaned. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.ids import AllocationId, RunId, WorkerId
from shared.messages.allocations import DesiredAllocation, DesiredSet
from worker.core.gang.members import take_seat
from worker.core.gang.seats import Formation
from worker.core.run.reducers import Change, LocalRun, on_desired, on_dropped
from worker.core.run.resize import is_new_formation, on_formation
from worker.core.run.states import MACHINE, Trigger

ORPHAN_AFTER_S = 1800.0
OWING_TIMES = 8
"""So many times longer a machine waits for the platform while it owes it reports or checkpoints: nobody else has them."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The highest epoch seen (kept on disk), and the newest set of that epoch."""

    epoch: int = 0
    sequence: int = -1


@dataclass(frozen=True, slots=True)
class Applied:
    """What a desired set made of the runs: those that changed, and those that are new here."""

    changed: tuple[LocalRun, ...]
    new: tuple[tuple[LocalRun, DesiredAllocation], ...]


def pass_gate(gate: Gate, epoch: int, sequence: int) -> Gate | None:
    """Return the gate after a set, or None where the set is from a deposed leader or older than one already applied."""
    if epoch < gate.epoch or (epoch == gate.epoch and sequence < gate.sequence):
        return None
    return Gate(epoch, sequence)


def apply_desired(runs: Mapping[AllocationId, LocalRun], desired: DesiredSet, worker: WorkerId) -> Applied:
    """Apply a set that passed the gate. An unknown allocation without its spec is left out: the reply then does not name it.

    Raises:
        Rejected: An allocation does not name this worker as a member.
    """
    changed: list[LocalRun] = []
    new: list[tuple[LocalRun, DesiredAllocation]] = []
    named = {allocation.allocation_id for allocation in desired.allocations}
    for allocation in desired.allocations:
        known = runs.get(allocation.allocation_id)
        if known is not None:
            after = known
            if is_new_formation(known, allocation):
                after = on_formation(known, allocation, worker)
            after = on_desired(after, _change(allocation)) if not known.is_over else known
            if known.is_over and allocation.generation > known.generation:
                after = on_dropped(
                    known
                )  # it had a part in the run once, and is to have one again: that is another beginning
            if after != known:
                changed.append(after)
        elif allocation.spec is not None:
            new.append((begin_run(allocation, worker), allocation))
    for allocation_id, run in runs.items():
        if allocation_id not in named and not run.dropped:
            changed.append(on_dropped(run))
    return Applied(tuple(changed), tuple(new))


def begin_run(allocation: DesiredAllocation, worker: WorkerId) -> LocalRun:
    """A run that this worker hears of for the first time: it is fetched first."""
    spec = allocation.spec
    seat = take_seat(allocation.members, worker, spec.distributed if spec else "horovod")
    fresh = LocalRun(
        allocation_id=allocation.allocation_id,
        run_id=RunId(allocation.run_id),
        token=allocation.token,
        generation=allocation.generation,
        seat=seat,
        preemption_timeout_s=allocation.preemption_timeout_s,
    )
    begun = replace(fresh, state=MACHINE.next(fresh.state, Trigger.DESIRED))
    change = _change(allocation)
    return replace(
        begun,
        wanted=change.wanted,
        decide_at=change.decide_at,
        formation=Formation(allocation.generation, seat) if allocation.generation > 1 else None,
        stands_by=allocation.generation > 1,
        rendezvous=None if seat.is_chief else change.rendezvous,
    )


def is_orphaned(heard_at: float, now: float, orphan_after_s: float = ORPHAN_AFTER_S) -> bool:
    """Whether the scheduler was silent for so long that nobody can be waiting for the ranks here."""
    return now - heard_at >= orphan_after_s


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds a machine: runs that have not ended, and what the platform has not got yet of those that have."""

    has_runs: bool
    owes: bool


def is_abandoned(silent_s: float, limit_s: float | None, standing: Standing) -> bool:
    """Whether a rented machine should end itself: nobody speaks to it, and nothing runs on it. `limit_s` None: it is not rented."""
    if limit_s is None or standing.has_runs:
        return False
    return silent_s >= limit_s * (OWING_TIMES if standing.owes else 1)


def _change(allocation: DesiredAllocation) -> Change:
    return Change(
        allocation.generation,
        allocation.wanted,
        allocation.decide_at,
        allocation.rendezvous,
        allocation.preemption_timeout_s,
    )
