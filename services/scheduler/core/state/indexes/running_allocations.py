"""Runs that could be asked to go, machine by machine: the machines of each owner, those with the least important work first,
then those whose work was saved last. What a run loses per slot is the time since it was saved, and what starting anew takes the runs of its
experiment (`pause_durations`), so this order never ages."""

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import timedelta
from heapq import merge
from typing import NamedTuple, TypeVar

from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.indexes.share_tree import NEVER, ShareNode
from services.scheduler.core.state.records.labels import Labels, has_all
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.slots import SlotCount, count_of
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import SlotHold
from shared.ids import RunId, TenantId, WorkerId
from shared.messages.specs import Thousandths

MILLISECOND = timedelta(milliseconds=1)
MOST_ORDERS = 64
"""So many sets of required labels have an order of their own; then all are made anew as they are asked for."""
Key = tuple[int, int, WorkerId, SlotCount, int]
"""Importance and saving, both falling; the machine; what its owner would lose in all if it were cleared, and from when it may be."""
TimeSlice = tuple[int, int, WorkerId]
"""Importance, falling; when the first turn there is over; the machine."""

T = TypeVar("T", Key, TimeSlice)


class RunningAllocation(NamedTuple):
    """A run on a machine. `slots`: its whole gang's; `here`: on this machine; `part`: so much of the slot `shared`. Not to be asked
    before: `ready_ms`, by who goes before it; `turn_ms`, by its equals. What it loses per slot is the time since `saved_ms`: when it was saved, less
    what starting anew takes. A tuple, because each change on a machine makes all of it anew."""

    run: RunId
    leaf: ShareNode
    slots: SlotCount
    here: SlotCount
    saved_ms: int
    ready_ms: int
    token: int
    turn_ms: int = NEVER
    part: Thousandths = 0
    shared: int | None = None


def running_allocation_of(
    policy: PoolPolicy,
    trial: Trial,
    run: Run,
    leaf: ShareNode,
    slots: SlotCount,
    hold: SlotHold,
    restart_ms: int,
) -> RunningAllocation:
    """A run as it stands on one machine.

    A run is left alone for `min_run`, and for ever once its trial was asked `max_preemptions` times. Equals may ask it after a
    quantum, whatever that number, but only once it has saved a checkpoint and if its trial has obeyed such a signal before (`is_time_sliced`).
    """
    granted_ms, ready_ms, turn_ms = milliseconds(run.granted_at), NEVER, NEVER
    if policy.max_preemptions is None or trial.preemptions < policy.max_preemptions:
        ready_ms = granted_ms + policy.min_run // MILLISECOND
    if policy.quantum is not None and is_time_sliced(trial, run):
        turn_ms = granted_ms + max(policy.quantum, policy.min_run) // MILLISECOND
    saved_ms = granted_ms if run.progress.saved_at is None else milliseconds(run.progress.saved_at)
    return RunningAllocation(
        run=run.id,
        leaf=leaf,
        slots=slots,
        here=count_of(len(hold.slot_ids), hold.part),
        saved_ms=saved_ms - restart_ms,
        ready_ms=ready_ms,
        token=run.token,
        turn_ms=turn_ms,
        part=hold.part,
        shared=hold.slot_ids[0] if hold.part else None,
    )


def is_time_sliced(trial: Trial, run: Run) -> bool:
    """Whether the quantum may interrupt this run without losing its work.

    A run that has saved no checkpoint since it began would lose all of it, so each turn brings at least one new checkpoint. A trial that
    had to be killed when its turn was over does not react to the signal: it is not asked again.
    """
    return run.progress.checkpoints > 0 and not trial.ignores_signals


class _Seat(NamedTuple):
    """Where a machine stands in the orders."""

    labels: Labels
    owner: TenantId | None
    key: Key
    turn: TimeSlice | None


class _Order:
    """Machines of each owner, the cheapest first; and those with a turn. Machines of nobody in particular stand under None."""

    def __init__(self) -> None:
        self.machines: dict[TenantId | None, list[Key]] = {}
        self.turns: dict[TenantId | None, list[TimeSlice]] = {}

    def enter(self, seat: _Seat) -> None:
        insort(self.machines.setdefault(seat.owner, []), seat.key)
        if seat.turn is not None:
            insort(self.turns.setdefault(seat.owner, []), seat.turn)

    def leave(self, seat: _Seat) -> None:
        _leave(self.machines, seat.owner, seat.key)
        if seat.turn is not None:
            _leave(self.turns, seat.owner, seat.turn)


class RunningAllocations:
    """The index: an order of all machines, and one of those with the labels that requests ask for."""

    def __init__(self) -> None:
        self._on: dict[WorkerId, tuple[RunningAllocation, ...]] = {}
        self._seats: dict[WorkerId, _Seat] = {}
        self._everywhere = _Order()
        self._orders: dict[Labels, _Order] = {(): self._everywhere}
        self._of: dict[Labels, tuple[_Order, ...]] = {}

    def set(
        self,
        worker: WorkerId,
        labels: Labels,
        owner: TenantId | None,
        standers: tuple[RunningAllocation, ...],
    ) -> None:
        """Replaces what stands on a machine."""
        before = self._seats.pop(worker, None)
        if before is not None:
            for order in self._orders_of(before.labels):
                order.leave(before)
        if not standers:
            self._on.pop(worker, None)
            return
        self._on[worker] = standers
        seat = self._seats[worker] = _Seat(labels, owner, _key(worker, standers), _turn(worker, standers))
        for order in self._orders_of(labels):
            order.enter(seat)

    def on(self, worker: WorkerId) -> tuple[RunningAllocation, ...]:
        return self._on.get(worker, ())

    def owners(self) -> Iterable[TenantId | None]:
        return self._everywhere.machines.keys()

    def is_over(self, now_ms: int) -> bool:
        """Whether any run's turn is over."""
        return next(self.in_turn(now_ms, None), None) is not None

    def in_turn(
        self,
        now_ms: int,
        floor: int | None,
        required: Labels = (),
        owners: Container[TenantId | None] | None = None,
    ) -> Iterator[WorkerId]:
        """Machines with a run whose turn is over: the least important first, then those that have had theirs longest.

        Args:
            floor: only machines with something of at least this priority number; None: all.
            required: only machines with these labels.
            owners: only machines of these; None: of all.
        """
        found = (
            _over(turns, now_ms)
            for owner, turns in self._order(required).turns.items()
            if owners is None or owner in owners
        )
        for rank, _, worker in merge(*found):
            if floor is not None and -rank < floor:
                return
            yield worker

    def worst(self) -> int:
        """The highest priority number of all that stand; 0 when nothing does."""
        return max((-keys[0][0] for keys in self._everywhere.machines.values()), default=0)

    def machines(
        self,
        limits: Mapping[TenantId | None, SlotCount],
        spent: Container[WorkerId],
        now_ms: int,
        floor: int | None,
        required: Labels = (),
    ) -> Iterator[WorkerId]:
        """Machines of these owners, the cheapest first.

        Args:
            limits: for each owner, what it may lose at most in slots with the machine as a whole; `NEVER` looks at no such thing.
            spent: machines that the plan has cleared already.
            floor: only machines with something of a higher priority number; None: all.
            required: only machines with these labels.
        """
        machines = self._order(required).machines
        found = (
            _within(machines[owner], limit, spent, now_ms)
            for owner, limit in limits.items()
            if owner in machines
        )
        for key in merge(*found):
            if floor is not None and -key[0] <= floor:
                return
            yield key[2]

    def _order(self, required: Labels) -> _Order:
        """The order of machines with these labels, made when it is first asked for."""
        order = self._orders.get(required)
        if order is None:
            if len(self._orders) > MOST_ORDERS:
                self._orders = {(): self._everywhere}
            order = self._orders[required] = _Order()
            self._of.clear()
            for seat in self._seats.values():
                if has_all(seat.labels, required):
                    order.enter(seat)
        return order

    def _orders_of(self, labels: Labels) -> tuple[_Order, ...]:
        """Where a machine with these labels stands."""
        found = self._of.get(labels)
        if found is None:
            wanted = self._orders.items()
            found = self._of[labels] = tuple([one for required, one in wanted if has_all(labels, required)])
        return found


def _within(keys: list[Key], limit: SlotCount, spent: Container[WorkerId], now_ms: int) -> Iterator[Key]:
    if limit == NEVER:
        return iter(keys)
    return (key for key in keys if key[3] <= limit and key[4] <= now_ms and key[2] not in spent)


def _over(turns: list[TimeSlice], now_ms: int) -> Iterator[TimeSlice]:
    """Those whose first turn is over."""
    at = 0
    while at < len(turns):
        rank = turns[at][0]
        end = bisect_left(turns, (rank, now_ms + 1), lo=at)
        yield from turns[at:end]
        at = bisect_left(turns, (rank + 1,), lo=end)


def _leave(lists: dict[TenantId | None, list[T]], owner: TenantId | None, entry: T) -> None:
    entries = lists[owner]
    del entries[bisect_left(entries, entry)]
    if not entries:
        del lists[owner]


def _turn(worker: WorkerId, standers: tuple[RunningAllocation, ...]) -> TimeSlice | None:
    """None: nobody on the machine ever has to yield to equals."""
    first_ms = min([one.turn_ms for one in standers])
    if first_ms == NEVER:
        return None
    return (-max(one.leaf.priority for one in standers), first_ms, worker)


def _key(worker: WorkerId, standers: tuple[RunningAllocation, ...]) -> Key:
    """All in one pass: each change on a machine asks for it."""
    here: SlotCount = 0
    saved: SlotCount = 0
    lost: SlotCount = 0
    ready_ms = least_important = 0
    for one in standers:
        here += one.here
        saved += one.here * one.saved_ms
        lost += one.slots
        ready_ms = max(ready_ms, one.ready_ms)
        least_important = max(least_important, one.leaf.priority)
    return (-least_important, -int(saved // (here or 1)), worker, lost, ready_ms)
