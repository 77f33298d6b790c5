"""The plan of one pool, on tentative indexes. Reserved slots are withheld for their holders from the start (`reserved_slots`).

Request groups are taken in the pool's order. For each one:
1. If a limit is reached (maximum of tenant or workspace, `max_slots`, `max_trials`), it is skipped and blocks no one.
2. If it fits, it is granted entirely.
3. If it does not, and the pool preempts, slots that are about to be released count. If they do not suffice,
   runs are preempted (`preemption/rights`, `preemption/equals`). The slots are withheld for it and granted once
   they are free.
4. In a pool that defragments, runs are migrated for the first request that can only wait, once that pays off
   (`preemption/moves`).
5. Otherwise the first such request is the head of the queue and gets a reservation: requests behind it may not
   take the free slots of its machines, unless the slots can be reclaimed from them. The reservation is kept
   until it starts, so it starts at the latest when the runs there have ended, even if other requests are
   backfilled.

A request that can never fit in this pool blocks no one, and no machines are requested for requests that growth
does not help (`unschedulable`).
"""

from collections import Counter, defaultdict
from math import ceil

from services.scheduler.core.planning.backfill import QueueHead
from services.scheduler.core.planning.decisions import Demand, Grant, Preempt, WaitReason
from services.scheduler.core.planning.elastic.extra_slots import Resize, assign_extra_slots, is_due
from services.scheduler.core.planning.feasibility import Feasibility
from services.scheduler.core.planning.order import QueueOrder, queue_order
from services.scheduler.core.planning.preemption.defragmentation import (
    MigrationSearch,
    place_migrated,
    reserve_targets,
    take_targets,
)
from services.scheduler.core.planning.preemption.rights import rights_of
from services.scheduler.core.planning.preemption.victims import VictimSearch, held_by
from services.scheduler.core.planning.quotas import limit_of, remaining_slots_of
from services.scheduler.core.planning.reserved_slots import ReservedSlots
from services.scheduler.core.planning.unschedulable import single_node_sizes, unschedulable_shapes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import (
    CapacityIndex,
    Placement,
    PlacementRequest,
)
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.indexes.share_tree import RequestGroup
from services.scheduler.core.state.records.pool import Path
from services.scheduler.core.state.records.slots import SlotCount
from shared.ids import RunId, TrialId, WorkerId


class PoolPlan:
    """See the module. `serve` computes the results; call `demand` before the tentative indexes are undone."""

    def __init__(self, cluster: Cluster, pool: Pool) -> None:
        self.cluster, self.pool = cluster, pool
        self.grants: list[Grant] = []
        self.signals: list[Preempt] = []
        self.resizes: list[Resize] = []
        self.refusals: dict[TrialId, WaitReason] = {}
        self.head = QueueHead(pool)
        self.reserved_slots = ReservedSlots(pool, cluster.now_ms)
        self._feasibility = Feasibility(pool, self.head, self.reserved_slots, cluster.now_ms)
        self._order: QueueOrder = queue_order(pool, self._favoured(), cluster.now_ms)
        self._free_before = pool.capacity.free
        self._granted_slots = 0
        self._covered = 0
        self._is_counted = False
        self._asked: set[RunId] = set(pool.leaving)
        self._spent: set[WorkerId] = set()
        self._unschedulable = 0
        self._withheld: defaultdict[Path, SlotCount] = defaultdict(int)

    def serve(self) -> None:
        self._unschedulable = unschedulable_shapes(self.pool)
        if self.pool.policy.defragment:
            reserve_targets(self.cluster, self.pool)
        self._keep_booked()
        while (line := self._order.next(self._feasibility.of)) is not None:
            self.reserved_slots.show_own(line)
            self.head.share_reclaimable(line)
            self._serve_first(line)
        self.reserved_slots.close()

    def distribute_extra_slots(self) -> None:
        """Distribute what is left over as extra slots. Served elastic requests start with their share of it."""
        if not self.pool.policy.elastic:
            return
        trials = self.cluster.trials
        served = {g.trial: g.placement for g in self.grants if trials[g.trial].request.needs.is_elastic}
        if not is_due(self.cluster, self.pool, served, self.refusals.values()):
            return
        extra = assign_extra_slots(self.cluster, self.pool, served)
        self.resizes = list(extra.resizes)
        self.grants = [
            grant._replace(placement=extra.grants.get(grant.trial, grant.placement))
            for grant in self.grants
            if grant.trial not in served or grant.trial in extra.grants
        ]
        self.refusals |= {trial: "preempting" for trial in served if trial not in extra.grants}

    def demand(self) -> Demand:
        """Return the demand after the plan's grants. Preempted slots still count as used, and so do slots
        withheld for reservations. Free slots withheld for a waiting request are not requested again. A run
        without slots needs a machine too."""
        pool, total = self.pool, self.pool.capacity.total
        waiting = max(0, pool.waiting_slots - self._covered) + self.reserved_slots.missing_slots
        if not total and pool.waiting_auxiliary:
            waiting = max(waiting, 1)
        idle = self._free_before - self._granted_slots - self.reserved_slots.free_slots
        requests = [self.cluster.trials[grant.trial].request for grant in self.grants]
        on_one = [one for one in requests if pool.is_on_one(one.needs)]
        granted = Counter((pool.shares.leaf_of(one).workspace, one.needs.max_slots) for one in on_one)
        sizes = single_node_sizes(pool, granted)
        leaving = sum(tenant.leaving for tenant in pool.shares.root.children.values())
        return Demand(
            waiting=waiting,
            used=total - idle,
            idle=idle,
            largest_single_node=max((size for size, _ in sizes), default=0),
            soon=ceil(pool.awaiting_slots),
            kind=pool.policy.kind,
            expected=idle + int(leaving) + max(0, (pool.policy.max_slots or 0) - total),
            price_per_slot_hour=pool.policy.price_per_slot_hour,
            single_node=sizes,
            unaffordable=ceil(pool.shares.unaffordable),
        )

    @property
    def has_more_expired(self) -> bool:
        """Whether the next plan should continue to search for runs with an expired time slice."""
        return self._feasibility.has_more_expired

    def keep_granted(self) -> None:
        """Keep the planned capacity of machines with grants. Tentative charges are summed with those that
        carrying out the plan makes."""
        granted = [worker for grant in self.grants for worker, _ in grant.placement]
        self.pool.capacity.keep(granted)
        if self.pool.later is not None:
            self.pool.later.keep(granted)
        self.pool.shares.gather()

    def _keep_booked(self) -> None:
        self.reserved_slots.keep()
        later = self.pool.later
        if later is None or not self.pool.policy.preemption:
            return
        for run in self.reserved_slots.to_ask():
            if run not in self._asked:
                self._let_go(later, Preempt(run, None, "reservation"))

    def _favoured(self) -> RequestGroup | None:
        """Return the group whose first request has the backfill reservation. Fair share keeps it first,
        whatever the shares are now. With a quantum it does not: the head would take slots that others have
        preempted, and is served in the regular order."""
        reserved = self.pool.reserved
        if reserved is None or reserved.trial not in self.pool.queue or self.pool.policy.quantum:
            return None
        line, key = self.pool.queue.line_of(reserved.trial)
        return line if line.keys[0] is key else None

    def _serve_first(self, line: RequestGroup) -> None:
        trial, leaf = line.keys[self._order.first_of(line)][2], line.leaf
        room = remaining_slots_of(leaf)
        if leaf.is_full or leaf.tenant.is_excluded or line.needs.least > room:
            self._pass(line, trial, limit_of(leaf, line.needs.least) or "max_slots")
            return
        gets_extra_slots = self.pool.policy.elastic and line.needs.is_elastic
        for slots in (line.needs.min_slots,) if gets_extra_slots else line.needs.sizes:
            placement = self._place(line, trial, slots) if line.needs.charged(slots) <= room else None
            if placement is not None:
                self._grant(line, trial, placement, slots)
                return
        self._wait(line, trial)

    def _place(self, line: RequestGroup, trial: TrialId, slots: int) -> Placement | None:
        if self.pool.policy.defragment:
            return place_migrated(self.cluster, self.pool, trial, line.ask, slots)
        return self.pool.capacity.place(line.ask, slots)

    def _grant(self, line: RequestGroup, trial: TrialId, placement: Placement, slots: int) -> None:
        self.grants.append(Grant(trial, self.pool.policy.name, placement))
        self.pool.capacity.take(placement, line.ask)
        if self.pool.later is not None:
            self.pool.later.take(placement, line.ask)
        self._granted_slots += sum(taken for _, taken in placement)
        self._charge(line, line.needs.charged(slots))

    def _charge(self, line: RequestGroup, slots: SlotCount) -> None:
        """Charge a request that is served now or soon; the next of its group may follow."""
        self._feasibility.decide()
        asked = 0 if line.bit & self._unschedulable else line.needs.most
        self.pool.shares.change(line.leaf, held=slots, runs=1, asked=-asked)
        self._order.granted(line)

    def _pass(self, line: RequestGroup, trial: TrialId, reason: WaitReason) -> None:
        self.refusals[trial] = reason
        self._order.passed(line)

    def _wait(self, line: RequestGroup, trial: TrialId) -> None:
        slots = line.needs.min_slots
        if slots == 0:
            self._pass(line, trial, "slots")
        elif slots > self._most(line.ask):
            if not line.bit & self._unschedulable:
                self._cover_once(line.ask, slots)
            self._pass(line, trial, "beyond_pool")
        elif self._keep(line, slots) or (self._ask(line, trial, slots) and self._keep(line, slots)):
            self.refusals[trial] = "preempting"
            self._charge(line, line.needs.least)
            for holder in (line.leaf.tenant, line.leaf.workspace):
                self._withheld[holder.path] += line.needs.least
        else:
            if self.head.priority is None:
                ready = self.head.reserve(line, trial, slots)
                self._covered += 0 if line.bit & self._unschedulable else ready
            self._pass(line, trial, "slots")

    def _keep(self, line: RequestGroup, slots: int) -> bool:
        """Withhold free and soon free slots if together they hold the request; otherwise change nothing and
        return False."""
        later = self.pool.later
        if later is None or not (self._asked or self.pool.allows_extra_slots):
            return False
        placement = later.place(line.ask, slots)
        if placement is None:
            return False
        self.pool.capacity.withhold(self._free_of(placement))
        later.take(placement, line.ask)
        return True

    def _ask(self, line: RequestGroup, trial: TrialId, slots: int) -> bool:
        """Preempt or migrate runs. Return False if there are none."""
        return self._preempt(line, trial, slots) or (
            self.pool.policy.defragment and self.head.priority is None and self._move(line, trial, slots)
        )

    def _move(self, line: RequestGroup, trial: TrialId, slots: int) -> bool:
        later = self.pool.later
        assert later is not None
        waited_ms = self.cluster.now_ms - milliseconds(self.cluster.trials[trial].since)
        migrations = MigrationSearch(
            self.cluster, self.pool, later, line.ask, slots, waited_ms, self._asked
        ).choose()
        for migration in migrations:
            self._let_go(later, Preempt(migration.run, trial, "defragment"))
        take_targets(self.pool.capacity, migrations)
        take_targets(later, migrations)
        return bool(migrations)

    def _preempt(self, line: RequestGroup, trial: TrialId, slots: int) -> bool:
        later = self.pool.later
        if later is None or self._feasibility.is_infeasible(line):
            return False
        now_ms = self.cluster.now_ms if self._feasibility.may_preempt_expired else None
        booked = self.reserved_slots.booked
        rights = rights_of(self.pool, line.leaf, line.needs.least, booked, self._withheld, now_ms)
        if not rights.any:
            return False
        self._feasibility.look(rights)
        kept = self.head.reserved.workers if self.head.reserved else ()
        search = VictimSearch(
            self.cluster, self.pool, later, line.ask, slots, rights, self._asked, self._spent, kept
        )
        victims = [(one.run, search.cause(one)) for one in search.choose()]
        for victim, because in victims:
            self._let_go(later, Preempt(victim, trial, because))
        if not victims:
            self._feasibility.give_up(line, rights)
        return bool(victims)

    def _let_go(self, later: CapacityIndex, signal: Preempt) -> None:
        """Ask a run for its slots and count them as about to be released."""
        charge = self.pool.charges[signal.run]
        self.signals.append(signal)
        self._asked.add(signal.run)
        self.pool.shares.leave(charge.leaf, charge.slots)
        held = held_by(self.cluster, signal.run)
        later.give(held)
        self._spent.update(share.worker for share in held if not self._stands_on(share.worker))

    def _stands_on(self, worker: WorkerId) -> bool:
        return any(one.run not in self._asked for one in self.pool.running_allocations.on(worker))

    def _most(self, ask: PlacementRequest) -> int:
        """Return the most slots that such a request could get if nothing ran."""
        total, largest = self.pool.capacity.total_for(ask)
        return largest if ask.single_node or not self.pool.capacity.exclusive else total

    def _cover_once(self, ask: PlacementRequest, slots: int) -> None:
        """Count existing free slots toward the first request that exceeds the pool."""
        if self.pool.capacity.exclusive and not ask.single_node and not self._is_counted:
            self._covered += min(slots, self.pool.capacity.free_for(ask))
            self._is_counted = True

    def _free_of(self, placement: Placement) -> Placement:
        spots = ((worker, wanted, self.pool.capacity.get(worker)) for worker, wanted in placement)
        return tuple(
            (worker, min(spot.free, wanted))
            for worker, wanted, spot in spots
            if spot and (spot.free or spot.shared_slots)
        )
