"""The backfill reservation: machines reserved for the head of the queue. Other requests may use the rest."""

from collections.abc import Iterator

from services.scheduler.core.state.indexes.placement.capacity import Placement, PlacementRequest
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.indexes.pool import BackfillReservation, Pool
from services.scheduler.core.state.indexes.share_tree import RequestGroup
from shared.ids import TrialId, WorkerId


class QueueHead:
    """The head of the queue: the first request in a plan that can only wait. Requests behind it may not take
    the free slots of its machines, unless the slots can be reclaimed from them. `priority` is that of the head;
    None while there is none."""

    def __init__(self, pool: Pool) -> None:
        self.reserved: BackfillReservation | None = None
        self.priority: int | None = None
        self._pool = pool
        self._withheld: Placement = ()
        self._later_withheld: Placement = ()

    def reserve(self, line: RequestGroup, trial: TrialId, slots: int) -> int:
        """Reserve machines; if the request already has a reservation, keep it.

        Returns how many of the slots it needs are free now.
        """
        pool = self._pool
        workers = choose_reserved(pool, line.ask, slots, trial)
        self.reserved = BackfillReservation(trial, workers)
        self.priority = line.leaf.priority
        spots = [(worker, pool.capacity.get(worker)) for worker in workers]
        kept = _with_machines(pool, line.ask, workers)
        self._withheld = tuple(
            (worker, spot.free)
            for worker in kept
            if (spot := pool.capacity.get(worker)) and (spot.free or spot.shared_slots)
        )
        pool.capacity.withhold(self._withheld)
        if pool.later is not None:
            later = ((worker, pool.later.get(worker)) for worker in kept)
            self._later_withheld = tuple((worker, spot.free) for worker, spot in later if spot)
            pool.later.withhold(self._later_withheld)
        return min(
            slots, sum(spot.free for _, spot in spots if spot and spot.owner in (None, line.ask.tenant))
        )

    def share_reclaimable(self, line: RequestGroup) -> None:
        """Let a less important request use the reserved slots if they can be reclaimed from it."""
        if self.is_reclaimable and self.priority is not None and line.leaf.priority > self.priority:
            self._pool.capacity.restore(self._withheld)
            if self._pool.later is not None:
                self._pool.later.restore(self._later_withheld)
            self._withheld = ()

    @property
    def is_reclaimable(self) -> bool:
        """Whether slots are reserved that could be reclaimed from any request behind."""
        policy = self._pool.policy
        is_ranked = policy.preemption and policy.order == "priority" and policy.ageing is None
        return bool(self._withheld) and is_ranked


def choose_reserved(pool: Pool, ask: PlacementRequest, slots: int, trial: TrialId) -> tuple[WorkerId, ...]:
    """Choose the machines that can hold the request soonest: those of other tenants last, then those with the
    fewest used slots.

    An existing reservation is kept while it suffices. Only then is the request sure to start once the runs
    there have ended.
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


def _with_machines(pool: Pool, ask: PlacementRequest, workers: tuple[WorkerId, ...]) -> tuple[WorkerId, ...]:
    """Return the workers, and the others of their machines that another tenant could take: its runs there would
    keep the request waiting."""
    found = dict.fromkeys(workers)
    for worker in workers:
        spot = pool.capacity.get(worker)
        if spot is not None and spot.owner != ask.tenant:
            found |= dict.fromkeys(pool.capacity.on_machine(worker))
    return tuple(found)


def _soonest(pool: Pool, ask: PlacementRequest) -> Iterator[tuple[WorkerId, WorkerCapacity]]:
    usable = pool.capacity.usable_by(ask)
    yield from sorted(usable, key=lambda found: (found[1].total - found[1].free, -found[1].total, found[0]))
    for worker, spot in pool.capacity.least_used(ask):
        if pool.capacity.exclusive and spot.owner not in (None, ask.tenant):
            yield worker, spot


def _suffices(pool: Pool, ask: PlacementRequest, slots: int, workers: tuple[WorkerId, ...]) -> bool:
    """Whether all machines are open and allowed for the request, and large enough together."""
    spots = [pool.capacity.get(worker) for worker in workers if pool.capacity.admits(ask, worker)]
    return len(spots) == len(workers) and all(spots) and sum(spot.total for spot in spots if spot) >= slots
