"""Enforces reservations (booked slots) in a plan.

During its window a reservation guarantees its holder a number of slots. Slots that the holder already holds
count; the rest is withheld from others, first on machines that serve its tenant, then on empty ones (entire
machines against other tenants, if machines serve one tenant at a time). In pools with preemption other runs are
preempted for the missing slots, the least important first. Otherwise slots are withheld as they become free.
Since a reservation is known in advance, it overrides guarantees, `min_run` and `max_preemptions`.
"""

from collections.abc import Iterator
from typing import Literal

from services.scheduler.core.state.indexes.placement.capacity import (
    CapacityIndex,
    Placement,
    PlacementRequest,
)
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation
from services.scheduler.core.state.indexes.share_tree import NEVER, RequestGroup, ShareNode
from services.scheduler.core.state.records.pool import Path
from shared.ids import RunId, TenantId, WorkerId

View = Literal["own", "kin", "foreign"]
"""The viewer of reserved slots: their holder, others of its tenant, or another tenant."""


class ReservedSlots:
    """See the module. Reserved free slots are hidden from every holder except the one whose request group is
    being served.

    Attributes:
        booked: Slots reserved now, by holder.
    """

    def __init__(self, pool: Pool, now_ms: int) -> None:
        self._pool, self._now_ms = pool, now_ms
        self.booked: dict[Path, int] = {}
        for one in pool.reservations.values():
            if one.is_running(now_ms):
                self.booked[one.holder] = self.booked.get(one.holder, 0) + one.slots
        self._hidden: dict[Path, tuple[Placement, Placement]] = {}
        self._missing: dict[Path, int] = {}
        self._seen_as: dict[Path, View] = {}

    @property
    def free_slots(self) -> int:
        """Free slots that are withheld now."""
        return sum(slots for now, _ in self._hidden.values() for _, slots in now)

    @property
    def missing_slots(self) -> int:
        """Reserved slots that are neither held by their holders, nor free, nor about to be released."""
        return sum(self._missing.values())

    def concerns(self, tenant: ShareNode) -> bool:
        """Whether this tenant, or one of its workspaces, has a reservation."""
        return bool(self.booked) and any(holder[0] == tenant.path[0] for holder in self.booked)

    def keep(self) -> None:
        """Withhold the reserved slots of every holder."""
        for holder in sorted(self.booked, key=lambda holder: -len(holder)):
            self._view(holder, "foreign")

    def show_own(self, line: RequestGroup) -> None:
        """Make the reserved slots of this request group's holder visible, and only those."""
        for holder in self.booked:
            self._view(holder, _view_of(holder, line.leaf.path))

    def close(self) -> None:
        """Hide all reserved slots again after the last request group."""
        for holder in self.booked:
            self._view(holder, "foreign")

    def to_ask(self) -> Iterator[RunId]:
        """Yield runs of others to preempt for missing slots."""
        for holder in self.booked:
            for worker in list(self._machines()) if self._missing.get(holder) else ():
                if self._missing[holder] <= 0:
                    break
                for one in self._askable(holder, worker):
                    yield one.run
                self._restore(holder)
                self._hide(holder, is_foreign=True)

    def _view(self, holder: Path, view: View) -> None:
        """Withhold slots for the current viewer; recomputed when the viewer changes, since slots may have been
        used."""
        if self._seen_as.get(holder) == view:
            return
        self._seen_as[holder] = view
        self._restore(holder)
        if view != "own":
            self._hide(holder, is_foreign=view == "foreign")

    def _hide(self, holder: Path, is_foreign: bool) -> None:
        pool = self._pool
        missing = self.booked[holder] - self._held(holder)
        ask = PlacementRequest(TenantId(holder[0]), None, single_node=False)  # type: ignore[arg-type]
        soon = pool.later or pool.capacity
        hidden: list[tuple[WorkerId, int]] = []
        whole: set[str] = set()
        usable = sorted(
            soon.usable_by(ask), key=lambda found: (found[1].owner is None, -found[1].free, found[0])
        )
        for worker, spot in usable:
            if missing <= 0:
                break
            is_whole = is_foreign and soon.exclusive and spot.owner is None
            hidden.append((worker, spot.free if is_whole else min(spot.free, missing)))
            missing -= spot.free
            if is_whole:
                whole.add(soon.machine_of(worker))
        known = {worker for worker, _ in hidden}
        # Another tenant on the same machine would keep the holder off its slots.
        hidden += [
            (worker, spot.free)
            for worker, spot in usable
            if worker not in known and soon.machine_of(worker) in whole
        ]
        now = _at_most(pool.capacity, hidden)
        later = tuple(hidden) if pool.later else ()
        pool.capacity.withhold(now)
        if pool.later:
            pool.later.withhold(later)
        self._hidden[holder] = (now, later)
        self._missing[holder] = max(0, missing)

    def _restore(self, holder: Path) -> None:
        now, later = self._hidden.pop(holder, ((), ()))
        self._pool.capacity.restore(now)
        if self._pool.later:
            self._pool.later.restore(later)

    def _held(self, holder: Path) -> int:
        """Return the whole slots that count for the holder's reservation, without those that its workspaces
        have reserved themselves."""
        apart = sum(
            min(slots, int(self._held_by(other)))
            for other, slots in self.booked.items()
            if len(other) > len(holder) and other[: len(holder)] == holder
        )
        return max(0, int(self._held_by(holder)) - apart)

    def _held_by(self, holder: Path) -> int:
        node: ShareNode | None = self._pool.shares.root
        for step in holder:
            node = node.children.get(step) if node else None
        return int(node.held_after_leaving) if node else 0

    def _machines(self) -> Iterator[WorkerId]:
        running = self._pool.running_allocations
        return running.machines(dict.fromkeys(running.owners(), NEVER), (), self._now_ms, None)

    def _askable(self, holder: Path, worker: WorkerId) -> list[RunningAllocation]:
        """Return the runs to preempt on a machine: not covered by a reservation and not leaving; on another
        tenant's machine all or none."""
        assert self._pool.later is not None
        spot, allocations = self._pool.later.get(worker), self._pool.running_allocations.on(worker)
        if spot is None:
            return []
        if spot.owner not in (None, holder[0]):
            there = self._pool.runs_on_machine(worker)
            may_ask = all(one.here and not self._is_booked(one.leaf) for one in there)
            return there if may_ask and self._pool.is_freed_by_runs(worker) else []
        others = [one for one in allocations if one.here and not self._is_booked(one.leaf)]
        chosen, missing = [], self._missing[holder]
        for one in sorted(others, key=lambda one: (-one.leaf.priority, -one.saved_ms, one.token)):
            if missing > 0:
                chosen.append(one)
                missing -= int(one.here)
        return chosen

    def _is_booked(self, leaf: ShareNode) -> bool:
        return any(leaf.path[: len(holder)] == holder for holder in self.booked)


def _view_of(holder: Path, path: Path) -> View:
    if path[: len(holder)] == holder:
        return "own"
    return "kin" if path[0] == holder[0] else "foreign"


def _at_most(capacity: CapacityIndex, hidden: list[tuple[WorkerId, int]]) -> Placement:
    spots = ((worker, slots, capacity.get(worker)) for worker, slots in hidden)
    return tuple((worker, min(slots, spot.free)) for worker, slots, spot in spots if spot)
