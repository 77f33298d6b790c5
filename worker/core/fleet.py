"""The desired set against what is here: fencing by epoch, which runs are new, known, dropped, orphaned. Pure."""

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
    new: tuple[LocalRun, ...]


def pass_gate(gate: Gate, epoch: int, sequence: int) -> Gate | None:
    """Return the gate after a set, or None where the set is from a deposed leader or older than one already applied."""
    if epoch < gate.epoch or (epoch == gate.epoch and sequence < gate.sequence):
        return None
    return Gate(epoch, sequence)


def apply_desired(
    runs: Mapping[AllocationId, LocalRun], allocations: Sequence[Desired], worker: WorkerId
) -> Applied:
    """Apply a set that passed the gate. An unknown allocation without its spec is left out: the reply then does not name it.

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
    """A run that this worker hears of for the first time. One whose gang trains already is to join it."""
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
        request=Request(desired.wanted, desired.decide_at, desired.preemption_timeout_s),
    )


def is_orphaned(last_contact_at: float, now: float, orphan_after_s: float = ORPHAN_AFTER_S) -> bool:
    """Whether the scheduler was silent for so long that nobody can be waiting for the ranks here."""
    return now - last_contact_at >= orphan_after_s


@dataclass(frozen=True, slots=True)
class Workload:
    """What holds a machine: runs that have not ended, and what the platform has not got yet of those that have."""

    has_runs: bool
    has_unsent: bool


def is_abandoned(silent_s: float, limit_s: float | None, workload: Workload) -> bool:
    """Whether a rented machine should end itself: nobody speaks to it, and nothing runs on it. `limit_s` None: it is not rented."""
    if limit_s is None or workload.has_runs:
        return False
    return silent_s >= limit_s * (UNSENT_DATA_FACTOR if workload.has_unsent else 1)


def _change(known: LocalRun, desired: Desired, worker: WorkerId) -> LocalRun:
    if not known.is_over:
        after = on_formation(known, desired, worker) if is_new_formation(known, desired) else known
        return on_desired(after, desired)
    # It had a part in the run once, and is to have one again: that is another beginning.
    is_another = desired.generation > known.gang.generation
    return on_dropped(known) if is_another else known
