"""Machines reserved for the request whose turn it is; others may use what is left."""

from collections.abc import Iterator

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
    chosen: list[WorkerId] = []
    for worker, spot in _soonest(pool, ask):
        if must_be_one and spot.total < slots:
            continue
        chosen.append(worker)
        slots -= spot.total
        if slots <= 0:
            break
    return tuple(chosen)


def _soonest(pool: Pool, ask: Ask) -> Iterator[tuple[WorkerId, Spot]]:
    usable = pool.capacity.usable_by(ask)
    yield from sorted(usable, key=lambda found: (found[1].total - found[1].free, -found[1].total, found[0]))
    for worker, spot in pool.capacity.least_used(ask):
        if pool.capacity.exclusive and spot.owner not in (None, ask.tenant):
            yield worker, spot


def _suffices(pool: Pool, ask: Ask, slots: int, workers: tuple[WorkerId, ...]) -> bool:
    """Whether they are all open, and together large enough."""
    spots = [pool.capacity.get(worker) for worker in workers]
    return all(spots) and sum(spot.total for spot in spots if spot) >= slots
