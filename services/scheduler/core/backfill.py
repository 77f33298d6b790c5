"""Machines reserved for the request whose turn it is; others may use what is left."""

from heapq import nsmallest

from services.scheduler.core.capacity import Ask, Spot
from services.scheduler.core.indexes import Pool
from shared.ids import TrialId, WorkerId


def choose_reserved(pool: Pool, ask: Ask, slots: int, trial: TrialId) -> tuple[WorkerId, ...]:
    """The machines that can hold the request soonest: those of others last, then those with the fewest used slots.

    What was reserved for it before stands as long as it would do: only so is it sure to start when what runs there has ended.
    """
    before = pool.reserved
    if before is not None and before.trial == trial and _suffices(pool, ask, slots, before.workers):
        return before.workers
    must_be_one = ask.single_node or not pool.capacity.exclusive
    candidates = [
        (_key(ask, worker, spot), worker, spot.total)
        for worker, spot in pool.capacity.spots()
        if ask.kind in (None, spot.kind) and (spot.total >= slots or not must_be_one)
    ]
    if must_be_one:
        return tuple(worker for _, worker, _ in nsmallest(1, candidates))
    candidates.sort()
    chosen: list[WorkerId] = []
    for _, worker, total in candidates:
        chosen.append(worker)
        slots -= total
        if slots <= 0:
            break
    return tuple(chosen)


def _key(ask: Ask, worker: WorkerId, spot: Spot) -> tuple[bool, int, int, WorkerId]:
    return (spot.owner not in (None, ask.tenant), spot.total - spot.free, -spot.total, worker)


def _suffices(pool: Pool, ask: Ask, slots: int, workers: tuple[WorkerId, ...]) -> bool:
    """Whether they are all open, and together large enough."""
    spots = [pool.capacity.get(worker) for worker in workers]
    return all(spots) and sum(spot.total for spot in spots if spot) >= slots
