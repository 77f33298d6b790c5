"""Whom to ask: the cheapest set of runs that makes room, machine by machine, and none that is not needed.

Cheap means: the least important; then the least work lost per slot (time since it was saved); then the fewest runs. Exact among
the machines looked at, which are the `LOOK` cheapest that may be asked: a search through all would cost a plan its time.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from services.scheduler.core.planning.preemption.rights import PreemptionRights
from services.scheduler.core.planning.preemption.units import PreemptionUnit, order, units_of
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex, PlacementRequest
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
"""How many machines in a row may be looked at in vain before the search gives up."""


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """One request's search. `later` is what will be free when all has left that was asked already;
    `kept`: machines of the head, where nobody's turn helps this request."""

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
        """The runs to ask, the least important first; empty when no set of them would do."""
        if self.slots == 0 or not self.rights.any or not self._could_do():
            return ()
        _, largest = self.later.total_for(self.ask)
        single = self._on_one_machine() if self.slots <= largest else ()
        if single or self.ask.single_node or not self.later.exclusive:
            return single
        return self._on_many()

    def _could_do(self) -> bool:
        """Whether it would fit if all that is borrowed came free: what rank alone may take is not reckoned."""
        if self.rights.priority is not None or self.rights.equals is not None or self.later.sharing:
            # Who gives back a part of a slot may free a whole one.
            return True
        missing = self.slots - self.later.free_for(self.ask)
        if missing <= 0:
            return True
        holders = (
            self.rights.leaf.tenant.children
            if not self.rights.is_covered_as_tenant
            else self.pool.shares.root.children
        )
        borrowed = sum(max(0, node.staying - node.quota.guaranteed) for node in holders.values())
        return borrowed >= missing

    def cause(self, one: RunningAllocation) -> PreemptionCause:
        """Why this run is asked: because its turn is over only where there is no other reason."""
        if one.ready_ms > self.cluster.now_ms or not self.rights.reach(one.leaf, one.slots):
            return "turn"
        return self.rights.cause(one.leaf)

    def _on_one_machine(self) -> tuple[RunningAllocation, ...]:
        best: tuple[tuple[int, int, int], list[RunningAllocation]] | None = None
        looked = 0
        for worker, askable in self._candidates():
            spot = self.later.get(worker)
            if spot is None or spot.total < self.slots:
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
        """The fewest of the cheapest that make room on this machine; those that turn out needless are spared."""
        spot = self.later.get(worker)
        assert spot is not None
        is_foreign = spot.owner not in (None, self.ask.tenant)
        missing = self.slots - spot.free
        if is_foreign:
            return askable if len(askable) == spot.holds else None
        chosen: list[PreemptionUnit] = []
        for unit in units_of(askable, spot.rooms, self.ask):
            if missing <= 0:
                break
            if self._may_lose_all(unit.standers, _members(chosen)):
                chosen.append(unit)
                missing -= unit.slots
        if missing > 0:
            return None
        for unit in reversed(chosen[:-1]):
            if missing + unit.slots <= 0:
                chosen.remove(unit)
                missing += unit.slots
        return _members(chosen)

    def _on_many(self) -> tuple[RunningAllocation, ...]:
        """Machines are cleared, the cheapest first, until the gang has room."""
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
        """Spares those without which the gang has room too, the most important first."""
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
        """Machines with runs that may be asked, with these runs, the cheapest first. A machine of another tenant is of use
        only when all of it is cleared."""
        vain = 0
        for worker in chain(self._machines(), self._in_turn()):
            spot = self.later.get(worker)
            if spot is None or self.ask.kind not in (None, spot.kind) or not spot.holds:
                continue
            if not self.later.admits(self.ask, worker):
                continue
            standers = self.pool.standing.on(worker)
            if spot.owner in (None, self.ask.tenant):
                askable = [one for one in standers if self._may_ask(one)]
            elif all(self._may_ask(one) for one in standers) and self._may_lose_all(standers):
                askable = list(standers)
            else:
                askable = []
            if not askable:
                vain += 1
                if vain == SKIP:
                    return
                continue
            vain = 0
            yield worker, sorted(askable, key=order)

    def _machines(self) -> Iterator[WorkerId]:
        if not self.rights.are_at_any_time:
            return iter(())
        only_lower = not (self.rights.is_covered_as_tenant or self.rights.is_covered_as_workspace)
        priority = self.rights.priority if only_lower else None
        limits, now_ms = self._limits(), self.cluster.now_ms
        return self.pool.standing.machines(limits, self.spent, now_ms, priority, self._required)

    def _in_turn(self) -> Iterator[WorkerId]:
        if self.rights.equals is None:
            return iter(())
        standing, now_ms = self.pool.standing, self.cluster.now_ms
        floor, yielding = self.rights.equals.floor, self._yielding()
        found = standing.in_turn(now_ms, floor, self._required, yielding)
        return (worker for worker in found if worker not in self.kept)

    def _yielding(self) -> set[TenantId | None]:
        """Owners on whose machines somebody may have to yield: most others have been served less, and are not looked at."""
        tenants = ((owner, self.pool.shares.tenant(owner)) for owner in self.pool.standing.owners() if owner)
        return {None, *(owner for owner, node in tenants if node and self.rights.may_yield(node))}

    @property
    def _required(self) -> Labels:
        """What all machines must have that are worth a look."""
        return self.ask.where.required if self.ask.where else ()

    def _limits(self) -> dict[TenantId | None, SlotCount]:
        """Owners whose machines may hold something to be asked for, and how much each may lose."""
        limits: dict[TenantId | None, SlotCount] = {None: NEVER}
        if self.rights.priority is not None or self.rights.is_covered_as_workspace:
            limits[self.ask.tenant] = NEVER
        if self.rights.priority is None and not self.rights.is_covered_as_tenant:
            return limits
        for owner in self.pool.standing.owners():
            node = self.pool.shares.tenant(owner) if owner else None
            if node is None or node is self.rights.leaf.tenant:
                continue
            borrowed = node.staying - node.quota.guaranteed
            if node.quota.guaranteed == 0 or borrowed > 0:
                limits[owner] = borrowed
        return limits

    def _may_ask(self, one: RunningAllocation) -> bool:
        return one.run not in self.asked and self._may_go(one, one.slots, one.slots)

    def _may_lose_all(
        self, fresh: Iterable[RunningAllocation], others: Iterable[RunningAllocation] = ()
    ) -> bool:
        """Whether their holders stay within their guarantees when all of them go."""
        together = [*others, *fresh]
        return all(self._reaches(one, together) for one in fresh)

    def _reaches(self, one: RunningAllocation, together: list[RunningAllocation]) -> bool:
        slots = sum(other.slots for other in together if _is_kin(other, one))
        equals = self.rights.equals
        if equals is None:
            return self._may_go(one, slots, slots)
        slots_of_one = sum(other.slots for other in together if equals.are_one(other.leaf, one.leaf))
        return self._may_go(one, slots, slots_of_one)

    def _may_go(self, one: RunningAllocation, slots: SlotCount, slots_of_one: SlotCount) -> bool:
        """Whether it may be asked when its tenant loses so many slots, and so many what it is compared as (see `reach_equal`)."""
        now_ms = self.cluster.now_ms
        if one.ready_ms <= now_ms and self.rights.reach(one.leaf, slots):
            return True
        return one.turn_ms <= now_ms and self.rights.reach_equal(one.leaf, slots, slots_of_one)

    def _held(self, run: RunId) -> tuple[GangShare, ...]:
        return held_by(self.cluster, run)


def held_by(cluster: Cluster, run_id: RunId) -> tuple[GangShare, ...]:
    """What a run still occupies."""
    run = cluster.runs[run_id]
    return tuple(share for share in run.shares if share.worker not in run.gang.released)


def _members(units: Iterable[PreemptionUnit]) -> list[RunningAllocation]:
    return [one for unit in units for one in unit.standers]


def _is_kin(one: RunningAllocation, other: RunningAllocation) -> bool:
    """Whether both count against one tenant's guarantee."""
    return one.leaf.tenant is other.leaf.tenant


def _cost(chosen: list[RunningAllocation], now_ms: int) -> tuple[int, int, int]:
    freed = sum(one.slots for one in chosen) or 1
    lost = sum(one.slots * (now_ms - one.saved_ms) for one in chosen)
    return (-min(one.leaf.priority for one in chosen), lost // freed, len(chosen))
