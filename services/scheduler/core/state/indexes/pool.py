"""One pool's indexes: what is free, what waits, who holds what. Advanced by `cluster` alone, from records."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from typing import NamedTuple
from uuid import UUID

from services.scheduler.core.state.indexes.decay import Decay, UsageHistory
from services.scheduler.core.state.indexes.elastic.records import ElasticRecords
from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex
from services.scheduler.core.state.indexes.queue import ExperimentPolicy, Queue
from services.scheduler.core.state.indexes.running_allocations import RunningAllocations
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.indexes.slot_shares import SlotShares
from services.scheduler.core.state.indexes.yield_times import YieldTimes
from services.scheduler.core.state.records.pool import Path, PoolPolicy, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Grant, Run
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import RequestState, SlotNeeds, Trial, TrialRequest
from services.scheduler.core.state.records.worker import Liveness, Worker
from shared.ids import PoolName, RunId, TrialId, WorkerId


class RunCharge(NamedTuple):
    """What a run counts for: the slots that it holds, and whether they are on their way back. What is no run counts for nothing."""

    leaf: ShareNode
    slots: SlotCount = 0
    is_leaving: bool = False
    runs: int = 0

    @property
    def leaving(self) -> SlotCount:
        return self.slots if self.is_leaving else 0


@dataclass(frozen=True, slots=True)
class BackfillReservation:
    """The waiting request whose turn it is, and the machines kept for it."""

    trial: TrialId
    workers: tuple[WorkerId, ...]


def open_pools(pools: Mapping[PoolName, "Pool"]) -> dict[PoolName, "Pool"]:
    """The pools that there are for people, by name: without those that were given up."""
    return {name: pool for name, pool in sorted(pools.items()) if not pool.is_given_up}


@dataclass(slots=True)
class Pool:
    """See the module.

    Attributes:
        later: In pools that take slots back: what is free when all has left that is leaving or lent.
        elastic: What is known of trials that take more than their minimum.
        standing: In pools that take slots back: what could be asked to leave.
        turns: When experiments last yielded; one for all pools.
        unheard: Workers that were there when the term began and have not spoken since.
        runs: Runs that have something; those in `leaving` were asked to end, or are ending.
        reserved: As the last plan has it.
        reservations: Bookings that are not over.
        spending: What was spent of budgets; it rules while the pool's machines have a price.
        turned_step: The step of the last plan that looked for all runs whose turn is over.
    """

    policy: PoolPolicy
    capacity: CapacityIndex
    turns: YieldTimes
    later: CapacityIndex | None = None
    standing: RunningAllocations = field(default_factory=RunningAllocations)
    shares: SlotShares = field(default_factory=SlotShares)
    queue: Queue = field(default_factory=Queue)
    runs: dict[RunId, None] = field(default_factory=dict)
    leaving: dict[RunId, None] = field(default_factory=dict)
    charges: dict[RunId, RunCharge] = field(default_factory=dict)
    single_node: dict[tuple[ShareNode, int], int] = field(default_factory=dict)
    waiting_auxiliary: int = 0
    awaiting_slots: SlotCount = 0
    reserved: BackfillReservation | None = None
    unheard: set[WorkerId] = field(default_factory=set)
    reservations: dict[UUID, Reservation] = field(default_factory=dict)
    spending: Mapping[Path, BudgetSpending] = field(default_factory=dict)
    turned_step: int = -1
    elastic: ElasticRecords = field(default_factory=ElasticRecords)

    @property
    def waiting_slots(self) -> int:
        """What could be used beyond what stands, within every maximum. Tenants share no slot: each needs whole ones for its parts."""
        usable = self.shares.root.usable
        if isinstance(usable, int):
            return usable
        return sum(ceil(tenant.usable) for tenant in self.shares.root.children.values())

    @property
    def is_given_up(self) -> bool:
        """Whether it is there no more: its provider gives it up, and nothing stands, runs or waits in it."""
        return self.policy.is_closing and not (len(self.capacity) or self.runs or len(self.queue))

    @property
    def is_lending(self) -> bool:
        """Whether runs may hold more than is their own."""
        return self.policy.elastic and bool(self.elastic.of)

    @property
    def moves_in_steps(self) -> bool:
        """Whether time alone may change what is planned."""
        if self.is_lending or self.reservations:
            return True
        is_timed = self.policy.min_run > timedelta(0) or bool(self.policy.quantum) or self.policy.defragment
        return len(self.queue) > 0 and (self.shares.history is not None or is_timed)

    def rule(self, policy: PoolPolicy, now_ms: int) -> None:
        """Another policy: what waits and runs stays. Past use is kept while fair share rules."""
        self.policy = policy
        self.capacity = capacity_of(policy)
        self.later = capacity_of(policy) if policy.takes_back else None
        self.standing = RunningAllocations()
        self.spend(self.spending)
        history = self.shares.history
        if policy.order != "fair_share":
            self.shares.keep(None)
        elif history is None:
            self.keep_history(UsageHistory(Decay(policy.half_life, now_ms)), now_ms)
        elif history.decay.half_life != policy.half_life:
            self.keep_history(history.renewed(policy.half_life, now_ms), now_ms)

    def spend(self, spending: Mapping[Path, BudgetSpending]) -> bool:
        """What was spent of budgets up to now. True: somebody may start less here now, or more."""
        self.spending = spending
        price = self.policy.price_per_slot_hour
        return self.shares.put_spending(spending, price) if price else self.shares.put_spending({}, 0.0)

    def pass_time(self, now_ms: int) -> None:
        """Keeps the numbers of a long past short, and forgets bookings that are over."""
        over = [name for name, one in self.reservations.items() if one.end_ms <= now_ms]
        for name in over:
            del self.reservations[name]
        history = self.shares.history
        if history is not None and history.decay.is_old(now_ms):
            self.keep_history(history.renewed(self.policy.half_life, now_ms), now_ms)

    def keep_history(self, history: UsageHistory, now_ms: int) -> None:
        """Goes on from a past in which nothing is held now."""
        self.shares.keep(history)
        for charge in self.charges.values():
            history.charge(charge.leaf.upwards(), charge.slots, now_ms)

    def await_word(self, worker: Worker) -> None:
        """Whether anything is to be planned before this worker has spoken."""
        if worker.liveness is Liveness.READY and not worker.is_heard:
            self.unheard.add(worker.id)
        else:
            self.unheard.discard(worker.id)

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Undoes at the end whatever a plan has tried inside."""
        with self.capacity.tentative(), self.shares.tentative():
            if self.later is None:
                yield
                return
            with self.later.tentative():
                yield

    def leaf(self, whose: TrialRequest | Grant, part: ExperimentPolicy) -> ShareNode:
        """The holder that a wish or a run belongs to."""
        leaf = self.shares.leaves.get(whose.experiment)
        if leaf is None:
            leaf = self.shares.leaf_of(whose)
            self.rank(leaf, part)
        return leaf

    def rank(self, leaf: ShareNode, part: ExperimentPolicy) -> None:
        """Gives an experiment its priority, weight and limits."""
        leaf.priority, leaf.max_runs = part.priority, part.max_trials
        self.shares.limit(leaf, Quota(0, part.max_slots, part.weight))

    def count(self, trial: Trial, part: ExperimentPolicy, sign: int) -> None:
        """Adds a waiting request to what waits, or takes it out."""
        needs = trial.wish.needs
        if trial.state is RequestState.AWAITING:
            self.awaiting_slots += sign * needs.most
            return
        leaf = self.leaf(trial.wish, part)
        if sign > 0:
            self.queue.add(trial, leaf)
        else:
            self.queue.discard(trial.id)
        self.waiting_auxiliary += sign * (needs.max_slots == 0)
        self._count_single_node(leaf, needs, sign)
        self.shares.change(leaf, asked=sign * needs.most)
        if sign < 0:
            self.shares.prune(leaf)

    def charge(self, run: Run, leaf: ShareNode, is_leaving: bool, now_ms: int) -> bool:
        """Brings what a run counts for in line with its record; True: something has changed."""
        is_over, name, gang = run.is_over, run.grant.id, run.gang
        slots = sum([share.charged for share in gang.shares if share.worker not in gang.released])
        before = self.charges.get(name)
        after = None if is_over else RunCharge(leaf, slots, is_leaving, 1)
        if before == after:
            return False
        self._recount(leaf, before or RunCharge(leaf), after or RunCharge(leaf), now_ms)
        if after is not None:
            self.charges[name] = after
        else:
            del self.charges[name]
            self.shares.prune(leaf)
        if is_leaving and after is not None:
            self.leaving[name] = None
        else:
            self.leaving.pop(name, None)
        return True

    def _recount(self, leaf: ShareNode, before: RunCharge, after: RunCharge, now_ms: int) -> None:
        held = after.slots - before.slots
        if held or after.runs != before.runs:
            self.shares.change(leaf, held=held, runs=after.runs - before.runs)
        if leaving := after.leaving - before.leaving:
            self.shares.leave(leaf, leaving)
        if held and self.shares.history is not None:
            self.shares.history.charge(leaf.upwards(), held, now_ms)

    def is_on_one(self, needs: SlotNeeds) -> bool:
        """Whether all its slots must be on one machine."""
        return needs.single_node or not self.policy.exclusive

    def _count_single_node(self, leaf: ShareNode, needs: SlotNeeds, sign: int) -> None:
        if self.is_on_one(needs):
            key = leaf.workspace, needs.max_slots
            count = self.single_node.get(key, 0) + sign
            self.single_node[key] = count
            if not count:
                del self.single_node[key]


def capacity_of(policy: PoolPolicy) -> CapacityIndex:
    """An empty index that places as the policy says."""
    return CapacityIndex(policy.exclusive, policy.topology, policy.placement == "spread")
