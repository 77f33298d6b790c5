"""Defragmentation: if enough slots are free in total but not together, runs are migrated to other machines.

A migration costs its run the work since its last checkpoint and the pause of a restart, on all its slots. The
gain of the waiting request is unknown, because run durations are. The decision follows the rent-or-buy rule:
migrations pay off once the request has lost more by waiting (its slots · its waiting time) than they cost.
Migrations therefore never cost more than was lost by waiting, and the total is at most twice that of the
optimal decision.

Runs are migrated only for the head of the queue. See `victims` for runs that yield and `backfill` for the head.
"""

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import (
    CapacityIndex,
    Placement,
    PlacementRequest,
)
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import ask_of
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation
from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, TrialId, WorkerId

LOOK = 32
"""How many machines are examined: those with the fewest used slots."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A run to migrate. `to`: where it fits now; `cost_ms`: what it loses, in slot-milliseconds."""

    run: RunId
    ask: PlacementRequest
    to: Placement
    cost_ms: int


@dataclass(frozen=True, slots=True)
class MigrationSearch:
    """The search for one request, on a plan's tentative indexes. `later`: capacity once all preempted runs have
    left."""

    cluster: Cluster
    pool: Pool
    later: CapacityIndex
    ask: PlacementRequest
    slots: int
    waited_ms: int
    asked: Container[RunId]

    def choose(self) -> tuple[Migration, ...]:
        """Return the cheapest migrations among those examined that let the request start; empty if there are
        none or they do not pay off yet."""
        if self.ask.fraction or self.later.free < self.slots:
            return ()
        found = [self._on_one_machine()]
        if not self.ask.single_node and self.later.exclusive:
            found.append(self._on_many())
        paying = [moves for moves in found if moves and cost_of(moves) < self.slots * self.waited_ms]
        return min(paying, key=cost_of, default=())

    def _on_one_machine(self) -> tuple[Migration, ...]:
        found = (
            self._cleared(worker, self.slots)
            for worker in self._looked_at()
            if (spot := self.later.get(worker)) and spot.total >= self.slots
        )
        return min(filter(None, found), key=cost_of, default=())

    def _on_many(self) -> tuple[Migration, ...]:
        """Clear machines of other tenants, those with the fewest used slots first, until the gang fits."""
        moves: list[Migration] = []
        with self.pool.capacity.tentative(), self.later.tentative():
            for worker in self._looked_at():
                spot = self.later.get(worker)
                if spot is None or spot.owner in (None, self.ask.tenant):
                    continue
                more = self._cleared(worker, spot.total)
                machine = [(one, self.later.get(one)) for one in self.later.on_machine(worker)]
                take_targets(self.pool.capacity, more)
                take_targets(self.later, more)
                for move in more:
                    self.later.give(self.cluster.runs[move.run].shares)
                if more:
                    self.pool.capacity.withhold(
                        _at_most(self.pool.capacity, tuple((one, at.free) for one, at in machine if at))
                    )
                moves += more
                if more and self.later.place(self.ask, self.slots) is not None:
                    return tuple(moves)
        return ()

    def _looked_at(self) -> list[WorkerId]:
        used = (worker for worker, spot in self.later.least_used(self.ask) if spot.free < spot.total)
        return list(islice(used, LOOK))

    def _cleared(self, worker: WorkerId, slots: int) -> tuple[Migration, ...]:
        """Return the runs to migrate so that the request gets this many slots there; on another tenant's
        machine all of them."""
        spot, allocations = self.later.get(worker), self.pool.running_allocations.on(worker)
        assert spot is not None
        hidden = [worker]
        if spot.owner not in (None, self.ask.tenant):
            hidden, there = self.later.on_machine(worker), self.pool.runs_on_machine(worker)
            is_movable = self.pool.is_freed_by_runs(worker) and all(map(self._is_movable, there))
            chosen = there if is_movable else []
        else:
            movable = [one for one in allocations if self._is_movable(one)]
            chosen = self._enough(movable, slots - spot.free)
        with _hidden(self.pool.capacity, hidden):
            moves = [self._moved(one) for one in sorted(chosen, key=lambda one: -one.slots)]
        return tuple(move for move in moves if move) if all(moves) else ()

    def _enough(self, movable: list[RunningAllocation], missing: int) -> list[RunningAllocation]:
        """Return the cheapest runs per slot that free enough, without unnecessary ones; empty if they do not
        suffice."""
        chosen: list[RunningAllocation] = []
        for one in sorted(movable, key=lambda one: (self._cost_ms(one) // int(one.slots), one.token)):
            if missing > 0:
                chosen.append(one)
                missing -= int(one.here)
        for one in chosen[-2::-1]:
            if missing + one.here <= 0:
                chosen.remove(one)
                missing += int(one.here)
        return chosen if missing <= 0 else []

    def _is_movable(self, one: RunningAllocation) -> bool:
        """Whether the run has whole slots on one machine, is not elastic, and may be preempted."""
        if one.run in self.asked or one.preemptible_ms > self.cluster.now_ms:
            return False
        if one.fraction or not 0 < one.here == one.slots:
            return False
        return not self.cluster.trials[self.cluster.runs[one.run].trial].request.needs.is_elastic

    def _moved(self, one: RunningAllocation) -> Migration | None:
        """Place the run elsewhere and take its slots in the plan."""
        ask = _ask(self.cluster, self.cluster.runs[one.run])
        place = self.pool.capacity.place(ask, int(one.slots))
        if place is None:
            return None
        move = Migration(one.run, ask, place, self._cost_ms(one))
        take_targets(self.pool.capacity, (move,))
        return move

    def _cost_ms(self, one: RunningAllocation) -> int:
        return int(one.slots) * (self.cluster.now_ms - one.saved_ms)


def cost_of(moves: tuple[Migration, ...]) -> int:
    """Return the total cost in slot-milliseconds."""
    return sum(move.cost_ms for move in moves)


def take_targets(capacity: CapacityIndex, moves: tuple[Migration, ...]) -> None:
    """Take the target slots of the migrations."""
    for move in moves:
        capacity.take(move.to, move.ask)


def reserve_targets(cluster: Cluster, pool: Pool) -> None:
    """Reserve slots for runs that were asked to migrate and are not back in the queue, as many as they had.
    Called before a plan starts."""
    leaving = (cluster.runs[run] for run in pool.leaving)
    coming = (cluster.runs.get(trial.run) for name in cluster.awaiting if (trial := cluster.trials[name]).run)
    movers = [run for run in (*leaving, *coming) if run and _was_moved(run) and run.pool == pool.policy.name]
    with _hidden(pool.capacity, frozenset(worker for run in movers for worker in run.workers)):
        placements = [_taken(pool.capacity, _ask(cluster, run), int(run.slots)) for run in movers]
    assert pool.later is not None
    for place in placements:
        for capacity in (pool.capacity, pool.later):
            capacity.withhold(_at_most(capacity, place))


def place_migrated(
    cluster: Cluster, pool: Pool, name: TrialId, ask: PlacementRequest, slots: int
) -> Placement | None:
    """Place a request. A trial that was migrated for another request does not return to its previous machines
    while that request waits."""
    last = cluster.trials[name].run
    run = cluster.runs.get(last) if last else None
    cause = run.asked if run and _was_moved(run) else None
    if run is None or cause is None or cause.trial is None or cause.trial not in pool.queue:
        return pool.capacity.place(ask, slots)
    with _hidden(pool.capacity, run.workers):
        return pool.capacity.place(ask, slots)


def _was_moved(run: Run) -> bool:
    return run.asked is not None and run.asked.because == "defragment"


def _ask(cluster: Cluster, run: Run) -> PlacementRequest:
    request = cluster.trials[run.trial].request
    return ask_of(request.tenant, request.needs)


@contextmanager
def _hidden(capacity: CapacityIndex, workers: Iterable[WorkerId]) -> Iterator[None]:
    """Withhold all free slots of these machines inside the block."""
    with capacity.tentative():
        spots = [(worker, capacity.get(worker)) for worker in workers]
        capacity.withhold(tuple((worker, spot.free) for worker, spot in spots if spot))
        yield


def _taken(capacity: CapacityIndex, ask: PlacementRequest, slots: int) -> Placement:
    place = capacity.place(ask, slots) or ()
    capacity.take(place, ask)
    return place


def _at_most(capacity: CapacityIndex, place: Placement) -> Placement:
    spots = ((worker, slots, capacity.get(worker)) for worker, slots in place)
    return tuple((worker, min(slots, spot.free)) for worker, slots, spot in spots if spot)
