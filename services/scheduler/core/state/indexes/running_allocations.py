"""Running allocations that could be preempted, by machine: machines of each owner, the least important work
first, then the work that was saved last.

The cost of preempting a run, per slot, is the time since its last checkpoint plus the time its experiment's
runs need to restart (`pause_durations`). The order therefore does not change with time.
"""

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
from shared.messages.trial_specs import Thousandths

MILLISECOND = timedelta(milliseconds=1)
MOST_ORDERS = 64
"""The number of sets of required labels with an order of their own; beyond it all are rebuilt on demand."""
Key = tuple[int, int, WorkerId, SlotCount, int]
"""Importance and save time, both descending; the machine; the slots its runs would lose if it were cleared, and
from when that is allowed."""
TimeSlice = tuple[int, int, WorkerId]
"""Importance, descending; when the first time slice on the machine ends; the machine."""

T = TypeVar("T", Key, TimeSlice)


class RunningAllocation(NamedTuple):
    """A run on one machine. A tuple, because each change on a machine rebuilds all of them.

    Attributes:
        slots: Of the entire gang. `here`: on this machine. `fraction`: the fraction of the slot `shared`.
        preemptible_ms: From when higher-ranked requests may preempt it.
        slice_end_ms: From when peers may (the end of its time slice).
        saved_ms: When it was last saved, minus its restart time; the loss per slot is the time since then.
    """

    run: RunId
    leaf: ShareNode
    slots: SlotCount
    here: SlotCount
    saved_ms: int
    preemptible_ms: int
    token: int
    slice_end_ms: int = NEVER
    fraction: Thousandths = 0
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
    """Return the entry of a run on one machine.

    A run is not preempted within `min_run`, and never again once its trial was preempted `max_preemptions`
    times. Peers may preempt it after a quantum, regardless of that number, but only once it has saved a
    checkpoint and unless its trial has ignored such a signal (`is_time_sliced`).
    """
    granted_ms, preemptible_ms, slice_end_ms = milliseconds(run.granted_at), NEVER, NEVER
    if policy.max_preemptions is None or trial.preemptions < policy.max_preemptions:
        preemptible_ms = granted_ms + policy.min_run // MILLISECOND
    if policy.quantum is not None and is_time_sliced(trial, run):
        slice_end_ms = granted_ms + max(policy.quantum, policy.min_run) // MILLISECOND
    saved_ms = granted_ms if run.progress.saved_at is None else milliseconds(run.progress.saved_at)
    return RunningAllocation(
        run=run.id,
        leaf=leaf,
        slots=slots,
        here=count_of(len(hold.slot_ids), hold.fraction),
        saved_ms=saved_ms - restart_ms,
        preemptible_ms=preemptible_ms,
        token=run.token,
        slice_end_ms=slice_end_ms,
        fraction=hold.fraction,
        shared=hold.slot_ids[0] if hold.fraction else None,
    )


def is_time_sliced(trial: Trial, run: Run) -> bool:
    """Whether a time slice may end this run without losing its work.

    A run that has not saved a checkpoint since it started would lose everything, so each time slice yields at
    least one new checkpoint. A trial that had to be killed at the end of a time slice ignores the signal and is
    not asked again.
    """
    return run.progress.checkpoints > 0 and not trial.ignores_signals


class _Seat(NamedTuple):
    """The entries of a machine in the orders."""

    labels: Labels
    owner: TenantId | None
    key: Key
    time_slice: TimeSlice | None


class _Order:
    """Machines of each owner, the cheapest first, and those with a time slice. Machines without an owner are
    listed under None."""

    def __init__(self) -> None:
        self.machines: dict[TenantId | None, list[Key]] = {}
        self.time_slices: dict[TenantId | None, list[TimeSlice]] = {}

    def enter(self, seat: _Seat) -> None:
        insort(self.machines.setdefault(seat.owner, []), seat.key)
        if seat.time_slice is not None:
            insort(self.time_slices.setdefault(seat.owner, []), seat.time_slice)

    def leave(self, seat: _Seat) -> None:
        _leave(self.machines, seat.owner, seat.key)
        if seat.time_slice is not None:
            _leave(self.time_slices, seat.owner, seat.time_slice)


class RunningAllocations:
    """The index: one order of all machines, and one for each set of required labels in use."""

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
        allocations: tuple[RunningAllocation, ...],
    ) -> None:
        """Replace the runs on a machine."""
        before = self._seats.pop(worker, None)
        if before is not None:
            for order in self._orders_of(before.labels):
                order.leave(before)
        if not allocations:
            self._on.pop(worker, None)
            return
        self._on[worker] = allocations
        seat = self._seats[worker] = _Seat(
            labels, owner, _key(worker, allocations), _slice_of(worker, allocations)
        )
        for order in self._orders_of(labels):
            order.enter(seat)

    def on(self, worker: WorkerId) -> tuple[RunningAllocation, ...]:
        return self._on.get(worker, ())

    def owners(self) -> Iterable[TenantId | None]:
        return self._everywhere.machines.keys()

    def is_over(self, now_ms: int) -> bool:
        """Whether the time slice of any run has ended."""
        return next(self.with_expired_slice(now_ms, None), None) is not None

    def with_expired_slice(
        self,
        now_ms: int,
        floor: int | None,
        required: Labels = (),
        owners: Container[TenantId | None] | None = None,
    ) -> Iterator[WorkerId]:
        """Yield the machines with a run whose time slice has ended: the least important first, then those whose
        slice ended first.

        Args:
            floor: Only machines with work of at least this priority number; None: all.
            required: Only machines with these labels.
            owners: Only machines of these owners; None: all.
        """
        found = (
            _over(slices, now_ms)
            for owner, slices in self._order(required).time_slices.items()
            if owners is None or owner in owners
        )
        for rank, _, worker in merge(*found):
            if floor is not None and -rank < floor:
                return
            yield worker

    def worst(self) -> int:
        """Return the highest priority number of all runs; 0 if there are none."""
        return max((-keys[0][0] for keys in self._everywhere.machines.values()), default=0)

    def machines(
        self,
        limits: Mapping[TenantId | None, SlotCount],
        spent: Container[WorkerId],
        now_ms: int,
        floor: int | None,
        required: Labels = (),
    ) -> Iterator[WorkerId]:
        """Yield the machines of these owners, the cheapest first.

        Args:
            limits: For each owner, how many slots it may lose at most if the machine is cleared; `NEVER`: no limit.
            spent: Machines that the plan has already cleared.
            floor: Only machines with work of a higher priority number; None: all.
            required: Only machines with these labels.
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
        """Return the order of machines with these labels; it is built on first use."""
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
        """Return the orders that contain a machine with these labels."""
        found = self._of.get(labels)
        if found is None:
            wanted = self._orders.items()
            found = self._of[labels] = tuple([one for required, one in wanted if has_all(labels, required)])
        return found


def _within(keys: list[Key], limit: SlotCount, spent: Container[WorkerId], now_ms: int) -> Iterator[Key]:
    if limit == NEVER:
        return iter(keys)
    return (key for key in keys if key[3] <= limit and key[4] <= now_ms and key[2] not in spent)


def _over(slices: list[TimeSlice], now_ms: int) -> Iterator[TimeSlice]:
    """Yield the entries whose first time slice has ended."""
    at = 0
    while at < len(slices):
        rank = slices[at][0]
        end = bisect_left(slices, (rank, now_ms + 1), lo=at)
        yield from slices[at:end]
        at = bisect_left(slices, (rank + 1,), lo=end)


def _leave(lists: dict[TenantId | None, list[T]], owner: TenantId | None, entry: T) -> None:
    entries = lists[owner]
    del entries[bisect_left(entries, entry)]
    if not entries:
        del lists[owner]


def _slice_of(worker: WorkerId, allocations: tuple[RunningAllocation, ...]) -> TimeSlice | None:
    """Return the machine's time-slice entry; None if no run there ever yields to peers."""
    first_ms = min([one.slice_end_ms for one in allocations])
    if first_ms == NEVER:
        return None
    return (-max(one.leaf.priority for one in allocations), first_ms, worker)


def _key(worker: WorkerId, allocations: tuple[RunningAllocation, ...]) -> Key:
    """Return the machine's sort key, computed in one pass because each change on a machine needs it."""
    here: SlotCount = 0
    saved: SlotCount = 0
    lost: SlotCount = 0
    preemptible_ms = least_important = 0
    for one in allocations:
        here += one.here
        saved += one.here * one.saved_ms
        lost += one.slots
        preemptible_ms = max(preemptible_ms, one.preemptible_ms)
        least_important = max(least_important, one.leaf.priority)
    return (-least_important, -int(saved // (here or 1)), worker, lost, preemptible_ms)
