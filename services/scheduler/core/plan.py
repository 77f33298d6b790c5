"""The plan: who gets which slots now, who is asked for theirs, why the others wait, and what more could be used.

Order of decisions in a pool: requests by (priority, submission, id). One that fits is granted. One that does not, in a pool
with preemption, first counts the slots that are being given back, then asks less important runs for theirs; what it will get is
kept for it. The first that must simply wait has workers reserved, whose free slots nobody behind it may take (so a gang is never
starved by small requests); others may pass it on what is left (backfill). In a pool with preemption, less important requests
may use reserved slots too, because they can be asked back.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from services.scheduler.core.capacity import Ask, Placement
from services.scheduler.core.cluster import Cluster, Pool
from services.scheduler.core.preemption import Releasing, choose_victims
from services.scheduler.core.queue import Usage
from services.scheduler.core.refusals import Reason
from services.scheduler.core.trial import Trial
from shared.ids import ExperimentId, PoolName, RunId, TrialId
from shared.messages.specs import SlotKind


@dataclass(frozen=True, slots=True)
class Grant:
    """Make a run of this trial on these workers."""

    trial: TrialId
    pool: PoolName
    placement: Placement


@dataclass(frozen=True, slots=True)
class Preempt:
    """Ask this run for its slots, on behalf of a waiting trial."""

    run: RunId
    for_trial: TrialId


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pool could use beyond what stands, once the plan is carried out. Slots; `soon`: waits for uploads only."""

    waiting: int
    used: int
    idle: int
    largest_single_node: int
    soon: int
    kind: SlotKind | None

    def exceeds(self, other: "Demand") -> bool:
        """Whether more is needed than `other` says."""
        return self.waiting > other.waiting or self.largest_single_node > other.largest_single_node


@dataclass(frozen=True, slots=True)
class Plan:
    """`refusals`: why each waiting request that was looked at was passed by; `refusals.explain` puts it in words, for any."""

    grants: tuple[Grant, ...] = ()
    signals: tuple[Preempt, ...] = ()
    demand: dict[PoolName, Demand] = field(default_factory=dict)
    refusals: dict[TrialId, Reason] = field(default_factory=dict)


def plan(cluster: Cluster, pools: Iterable[PoolName]) -> Plan:
    """Plans the given pools (those that changed), by name; the cluster is left as it was."""
    grants: list[Grant] = []
    signals: list[Preempt] = []
    demand: dict[PoolName, Demand] = {}
    refusals: dict[TrialId, Reason] = {}
    for name in sorted(pools):
        pool = cluster.pools.get(name)
        if pool is None:
            continue
        with pool.capacity.tentative():
            turn = _Turn(cluster, pool)
            turn.serve()
        grants += turn.grants
        signals += turn.signals
        demand[name] = turn.demand()
        refusals |= turn.refusals
    return Plan(tuple(grants), tuple(signals), demand, refusals)


class _Turn:
    """One pool's plan under way, on tentative capacity."""

    def __init__(self, cluster: Cluster, pool: Pool) -> None:
        self.cluster, self.pool = cluster, pool
        self.grants: list[Grant] = []
        self.signals: list[Preempt] = []
        self.refusals: dict[TrialId, Reason] = {}
        self._free_before = pool.capacity.free
        self._taken: dict[ExperimentId, int] = {}
        self._served: dict[ExperimentId, int] = {}
        self._reach: dict[Ask, int] = {}
        self._covered = 0
        self._is_counted = False
        self._hopeless: set[tuple[Ask, int]] = set()
        self._reserved_priority: int | None = None
        self._reserved: Placement = ()
        self._releasing = Releasing(cluster, pool)

    def serve(self) -> None:
        for trial_id in self.pool.queue:
            trial = self.cluster.trials[trial_id]
            priority = self.cluster.part_of(trial).priority
            if self._is_over(priority):
                return
            self._lend_reserved(priority)
            self._serve_one(trial, priority)

    def demand(self) -> Demand:
        """After the plan's grants; what it preempts is still used. Slots that stand ready for a waiting request are not
        asked for again. A run without slots needs a machine too."""
        pool, total = self.pool, self.pool.capacity.total
        granted = sum(self._taken.values())
        waiting = pool.waiting_slots
        for experiment, taken in self._taken.items():
            usage = pool.usage.get(experiment, Usage())
            cap = self._cap(experiment)
            after = Usage(usage.running + taken, usage.waiting - self._served[experiment])
            waiting += after.usable(cap) - usage.usable(cap)
        waiting = max(0, waiting - self._covered)
        if not total and pool.waiting_auxiliary:
            waiting = max(waiting, 1)
        return Demand(
            waiting=waiting,
            used=total - self._free_before + granted,
            idle=self._free_before - granted,
            largest_single_node=self.cluster.largest_single_node(pool),
            soon=pool.awaiting_slots,
            kind=pool.policy.kind,
        )

    def _is_over(self, priority: int) -> bool:
        if self.pool.capacity.free > 0 or self.pool.waiting_auxiliary:
            return False
        if self._reserved and self.pool.policy.preemption:
            return False
        return not self._releasing.can_preempt(priority)

    def _serve_one(self, trial: Trial, priority: int) -> None:
        needs = trial.wish.needs
        ask = Ask(trial.wish.tenant, needs.kind, needs.single_node)
        room = self._room(trial)
        if room is not None and room < needs.min_slots:
            self.refusals[trial.id] = "max_slots"
            return
        for slots in needs.sizes:
            if (room is not None and slots > room) or (ask, slots) in self._hopeless:
                continue
            placement = self.pool.capacity.place(ask, slots)
            if placement is not None:
                self._grant(trial, placement)
                return
            if not self.pool.policy.preemption:
                self._hopeless.add((ask, slots))
        self._wait(trial, ask, priority)

    def _grant(self, trial: Trial, placement: Placement) -> None:
        self.pool.capacity.take(placement, trial.wish.tenant)
        self.grants.append(Grant(trial.id, self.cluster.pool_of(trial), placement))
        slots = sum(slots for _, slots in placement)
        experiment = trial.wish.experiment
        self._taken[experiment] = self._taken.get(experiment, 0) + slots
        self._served[experiment] = self._served.get(experiment, 0) + trial.wish.needs.max_slots

    def _wait(self, trial: Trial, ask: Ask, priority: int) -> None:
        slots = trial.wish.needs.min_slots
        if slots == 0 or slots > self._most(ask):
            self.refusals[trial.id] = "slots" if slots == 0 else "beyond_pool"
            if self.pool.capacity.exclusive and not ask.single_node and not self._is_counted:
                self._covered += min(slots, self.pool.capacity.free_for(ask))
                self._is_counted = True
            return
        kept = self._releasing.keep(ask, slots)
        if not kept and self.pool.policy.preemption:
            victims = choose_victims(self.cluster, self.pool, self._releasing, ask, slots, priority)
            for victim in victims:
                self.signals.append(Preempt(victim, trial.id))
                self._releasing.add(self.cluster.runs[victim])
            kept = bool(victims) and self._releasing.keep(ask, slots)
        self.refusals[trial.id] = "preempting" if kept else "slots"
        if kept:
            self._covered += slots
        elif self._reserved_priority is None:
            self._reserve(trial, ask, slots, priority)

    def _most(self, ask: Ask) -> int:
        """The most slots that such a request could get if nothing ran."""
        if ask not in self._reach:
            total, largest = self.pool.capacity.total_for(ask)
            self._reach[ask] = largest if ask.single_node or not self.pool.capacity.exclusive else total
        return self._reach[ask]

    def _reserve(self, trial: Trial, ask: Ask, slots: int, priority: int) -> None:
        """Keeps the free slots of the workers that can hold the request soonest: those with the fewest used slots."""
        capacity = self.pool.capacity
        candidates = []
        for worker in capacity.workers():
            spot = capacity.get(worker)
            if spot and ask.kind in (None, spot.kind):
                is_foreign = spot.owner not in (None, ask.tenant)
                candidates.append((is_foreign, spot.total - spot.free, -spot.total, worker, spot))
        needed, chosen = slots, []
        must_be_one = ask.single_node or not capacity.exclusive
        for _, _, _, worker, spot in sorted(candidates, key=lambda candidate: candidate[:4]):
            if must_be_one and spot.total < slots:
                continue
            chosen.append((worker, spot.free))
            needed -= spot.total
            if needed <= 0:
                break
        self._reserved_priority = priority
        self._reserved = tuple((worker, free) for worker, free in chosen if free)
        mine = {worker for is_foreign, _, _, worker, _ in candidates if not is_foreign}
        self._covered += min(slots, sum(free for worker, free in self._reserved if worker in mine))
        capacity.take(self._reserved, trial.wish.tenant)

    def _lend_reserved(self, priority: int) -> None:
        """Less important requests may use what is reserved where it can be asked back from them."""
        is_less = self._reserved_priority is not None and priority > self._reserved_priority
        if self._reserved and is_less and self.pool.policy.preemption:
            self.pool.capacity.give(self._reserved)
            self._reserved = ()

    def _room(self, trial: Trial) -> int | None:
        """Slots that `max_slots` still allows the experiment, with what this plan has granted."""
        cap = self._cap(trial.wish.experiment)
        if cap is None:
            return None
        usage = self.pool.usage.get(trial.wish.experiment)
        held = usage.running if usage else 0
        return cap - held - self._taken.get(trial.wish.experiment, 0)

    def _cap(self, experiment: ExperimentId) -> int | None:
        part = self.cluster.parts.get(experiment)
        return part.max_slots if part else None
