"""Chooses the runs to preempt: the cheapest sufficient set, machine by machine, without unnecessary runs.

Cost is ordered by: importance, the work lost per slot (time since it was saved), the number of runs. The choice
is optimal among the machines examined, which are the `LOOK` cheapest that may be preempted; examining all of
them would make plans too slow.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from services.scheduler.core.planning.preemption.preemption_units import PreemptionUnit, order, units_of
from services.scheduler.core.planning.preemption.rights import PreemptionRights
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex, PlacementRequest
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation
from services.scheduler.core.state.indexes.share_tree import NEVER
from services.scheduler.core.state.records.gang import GangShare
from services.scheduler.core.state.records.labels import Labels
from services.scheduler.core.state.records.preemption_notice import PreemptionCause
from services.scheduler.core.state.records.slots import SlotCount
from shared.ids import RunId, TenantId, WorkerId

LOOK = 16
SKIP = 512
"""How many machines in a row may be examined without success before the search ends."""


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """The search for one request.

    Attributes:
        later: Capacity once all preempted runs have left.
        kept: Machines of the head; runs there do not yield to peers for this request.
    """

    cluster: Cluster
    pool: Pool
    later: CapacityIndex
    ask: PlacementRequest
    slots: int
    rights: PreemptionRights
    asked: Container[RunId]
    spent: Container[WorkerId]
    kept: Container[WorkerId] = ()

    def choose(self) -> tuple[RunningAllocation, ...]:
        """Return the runs to preempt, the least important first; empty if no set suffices."""
        if self.slots == 0 or not self.rights.any or not self._could_do():
            return ()
        _, largest = self.later.total_for(self.ask)
        single = self._on_one_machine() if self.slots <= largest else ()
        if single or self.ask.single_node or not self.later.exclusive:
            return single
        return self._on_many()

    def _could_do(self) -> bool:
        """Whether the request would fit if all borrowed slots were released. Preemption by priority is not
        considered."""
        if self.rights.priority is not None or self.rights.peers is not None or self.later.sharing:
            # A run that releases a fraction of a slot may free an entire slot.
            return True
        missing = self.slots - self.later.free_for(self.ask)
        if missing <= 0:
            return True
        holders = (
            self.rights.leaf.tenant.children
            if not self.rights.is_covered_as_tenant
            else self.pool.shares.root.children
        )
        borrowed = sum(max(0, node.held_after_leaving - node.quota.guaranteed) for node in holders.values())
        return borrowed >= missing

    def cause(self, one: RunningAllocation) -> PreemptionCause:
        """Return why this run is preempted; its time slice counts only if there is no other reason."""
        if one.preemptible_ms > self.cluster.now_ms or not self.rights.reach(one.leaf, one.slots):
            return "time_slice"
        return self.rights.cause(one.leaf)

    def _on_one_machine(self) -> tuple[RunningAllocation, ...]:
        best: tuple[tuple[int, int, int], list[RunningAllocation]] | None = None
        looked = 0
        for worker, askable in self._candidates():
            spot = self.later.get(worker)
            if spot is None or self._largest_on(worker, spot) < self.slots:
                continue
            chosen = self._enough(worker, askable)
            if chosen is not None:
                cost = _cost(chosen, self.cluster.now_ms)
                if best is None or cost < best[0]:
                    best = (cost, chosen)
                looked += 1
                if looked == LOOK:
                    break
        return () if best is None else tuple(best[1])

    def _enough(self, worker: WorkerId, askable: list[RunningAllocation]) -> list[RunningAllocation] | None:
        """Return the fewest of the cheapest runs that suffice on this machine, without unnecessary ones."""
        spot = self.later.get(worker)
        assert spot is not None
        is_foreign = spot.owner not in (None, self.ask.tenant)
        missing = self.slots - spot.free
        if is_foreign:
            return askable if self.pool.is_freed_by_runs(worker) else None
        chosen: list[PreemptionUnit] = []
        for unit in units_of(askable, spot.shared_slots, self.ask):
            if missing <= 0:
                break
            if self._may_lose_all(unit.allocations, _members(chosen)):
                chosen.append(unit)
                missing -= unit.slots
        if missing > 0:
            return None
        for unit in reversed(chosen[:-1]):
            if missing + unit.slots <= 0:
                chosen.remove(unit)
                missing += unit.slots
        return _members(chosen)

    def _largest_on(self, worker: WorkerId, spot: WorkerCapacity) -> int:
        """Return the most slots of one worker that clearing this one makes usable: another tenant's machine is
        cleared with all its workers."""
        if spot.owner in (None, self.ask.tenant):
            return spot.total
        spots = (
            self.later.get(peer)
            for peer in self.later.on_machine(worker)
            if self.later.admits(self.ask, peer)
        )
        return max((one.total for one in spots if one and self.ask.kind in (None, one.kind)), default=0)

    def _on_many(self) -> tuple[RunningAllocation, ...]:
        """Clear machines, the cheapest first, until the gang fits."""
        chosen: dict[RunId, RunningAllocation] = {}
        room = self.later.free_for(self.ask)
        with self.later.tentative():
            for _, askable in self._candidates():
                fresh = [one for one in askable if one.run not in chosen]
                if not fresh or not self._may_lose_all(fresh, chosen.values()):
                    continue
                for one in fresh:
                    chosen[one.run] = one
                    self.later.give(self._held(one.run))
                room = self.later.free_for(self.ask)
                if room >= self.slots and self.later.place(self.ask, self.slots) is not None:
                    break
            else:
                return ()
        return tuple(self._needed(list(chosen.values())))

    def _needed(self, chosen: list[RunningAllocation]) -> list[RunningAllocation]:
        """Drop the runs without which the gang also fits, the most important first."""
        needed = sorted(chosen, key=order)
        for spared in reversed(needed[:-1]):
            rest = [one for one in needed if one is not spared]
            with self.later.tentative():
                for one in rest:
                    self.later.give(self._held(one.run))
                if self.later.place(self.ask, self.slots) is not None:
                    needed = rest
        return needed

    def _candidates(self) -> Iterator[tuple[WorkerId, list[RunningAllocation]]]:
        """Yield machines with runs that may be preempted, the cheapest first, and these runs. A machine of
        another tenant helps only if it is cleared entirely."""
        failures = 0
        for worker in chain(self._machines(), self._with_expired_slice()):
            spot = self.later.get(worker)
            if spot is None or self.ask.kind not in (None, spot.kind) or not spot.holds:
                continue
            if not self.later.admits(self.ask, worker):
                continue
            if spot.owner in (None, self.ask.tenant):
                askable = [one for one in self.pool.running_allocations.on(worker) if self._may_ask(one)]
            else:
                allocations = self.pool.runs_on_machine(worker)
                is_askable = all(self._may_ask(one) for one in allocations)
                askable = allocations if is_askable and self._may_lose_all(allocations) else []
            if not askable:
                failures += 1
                if failures == SKIP:
                    return
                continue
            failures = 0
            yield worker, sorted(askable, key=order)

    def _machines(self) -> Iterator[WorkerId]:
        if not self.rights.are_at_any_time:
            return iter(())
        only_lower = not (self.rights.is_covered_as_tenant or self.rights.is_covered_as_workspace)
        priority = self.rights.priority if only_lower else None
        limits, now_ms = self._limits(), self.cluster.now_ms
        return self.pool.running_allocations.machines(limits, self.spent, now_ms, priority, self._required)

    def _with_expired_slice(self) -> Iterator[WorkerId]:
        if self.rights.peers is None:
            return iter(())
        running, now_ms = self.pool.running_allocations, self.cluster.now_ms
        floor, yielding = self.rights.peers.floor, self._yielding()
        found = running.with_expired_slice(now_ms, floor, self._required, yielding)
        return (worker for worker in found if worker not in self.kept)

    def _yielding(self) -> set[TenantId | None]:
        """Return the owners whose machines may have runs that yield; most others have lower usage and are skipped."""
        tenants = (
            (owner, self.pool.shares.tenant(owner))
            for owner in self.pool.running_allocations.owners()
            if owner
        )
        return {None, *(owner for owner, node in tenants if node and self.rights.may_yield(node))}

    @property
    def _required(self) -> Labels:
        """The labels that a machine must have."""
        return self.ask.where.required if self.ask.where else ()

    def _limits(self) -> dict[TenantId | None, SlotCount]:
        """Return the owners whose machines may be preempted, and how many slots each may lose."""
        limits: dict[TenantId | None, SlotCount] = {None: NEVER}
        if self.rights.priority is not None or self.rights.is_covered_as_workspace:
            limits[self.ask.tenant] = NEVER
        if self.rights.priority is None and not self.rights.is_covered_as_tenant:
            return limits
        for owner in self.pool.running_allocations.owners():
            node = self.pool.shares.tenant(owner) if owner else None
            if node is None or node is self.rights.leaf.tenant:
                continue
            borrowed = node.held_after_leaving - node.quota.guaranteed
            if node.quota.guaranteed == 0 or borrowed > 0:
                limits[owner] = borrowed
        return limits

    def _may_ask(self, one: RunningAllocation) -> bool:
        return one.run not in self.asked and self._may_go(one, one.slots, one.slots)

    def _may_lose_all(
        self, fresh: Iterable[RunningAllocation], others: Iterable[RunningAllocation] = ()
    ) -> bool:
        """Whether the holders stay within their guarantees if all of these runs are preempted."""
        together = [*others, *fresh]
        return all(self._reaches(one, together) for one in fresh)

    def _reaches(self, one: RunningAllocation, together: list[RunningAllocation]) -> bool:
        slots = sum(other.slots for other in together if _is_kin(other, one))
        equals = self.rights.peers
        if equals is None:
            return self._may_go(one, slots, slots)
        slots_of_one = sum(other.slots for other in together if equals.are_one(other.leaf, one.leaf))
        return self._may_go(one, slots, slots_of_one)

    def _may_go(self, one: RunningAllocation, slots: SlotCount, slots_of_one: SlotCount) -> bool:
        """Whether the run may be preempted if its tenant loses `slots` slots, and the holder it is compared as
        `slots_of_one` (see `reach_equal`)."""
        now_ms = self.cluster.now_ms
        if one.preemptible_ms <= now_ms and self.rights.reach(one.leaf, slots):
            return True
        return one.slice_end_ms <= now_ms and self.rights.reach_equal(one.leaf, slots, slots_of_one)

    def _held(self, run: RunId) -> tuple[GangShare, ...]:
        return held_by(self.cluster, run)


def held_by(cluster: Cluster, run_id: RunId) -> tuple[GangShare, ...]:
    """Return what a run still occupies."""
    run = cluster.runs[run_id]
    return tuple(share for share in run.shares if share.worker not in run.gang.released)


def _members(units: Iterable[PreemptionUnit]) -> list[RunningAllocation]:
    return [one for unit in units for one in unit.allocations]


def _is_kin(one: RunningAllocation, other: RunningAllocation) -> bool:
    """Whether both count against the guarantee of one tenant."""
    return one.leaf.tenant is other.leaf.tenant


def _cost(chosen: list[RunningAllocation], now_ms: int) -> tuple[int, int, int]:
    freed = sum(one.slots for one in chosen) or 1
    lost = sum(one.slots * (now_ms - one.saved_ms) for one in chosen)
    return (-min(one.leaf.priority for one in chosen), lost // freed, len(chosen))
