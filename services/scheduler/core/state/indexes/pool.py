"""The indexes of one pool: free slots, waiting requests, holders. Only `cluster` updates them, from records."""

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
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation, RunningAllocations
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
    """The charge of a run to its holders: the slots that it holds and whether it is giving them up. The default
    charges nothing."""

    leaf: ShareNode
    slots: SlotCount = 0
    is_leaving: bool = False
    runs: int = 0

    @property
    def leaving(self) -> SlotCount:
        return self.slots if self.is_leaving else 0


@dataclass(frozen=True, slots=True)
class BackfillReservation:
    """The head of the queue and the machines reserved for it (backfill reservation)."""

    trial: TrialId
    workers: tuple[WorkerId, ...]


def open_pools(pools: Mapping[PoolName, "Pool"]) -> dict[PoolName, "Pool"]:
    """Return the pools that users see, by name, without those that were closed."""
    return {name: pool for name, pool in sorted(pools.items()) if not pool.is_given_up}


@dataclass(slots=True)
class Pool:
    """See the module.

    Attributes:
        later: In pools that preempt: the capacity once all leaving runs and all extra slots are released.
        elastic: Reports and usage of elastic trials.
        running_allocations: In pools that preempt: the runs that could be asked to yield.
        yield_times: When experiments last yielded; shared by all pools.
        silent_workers: Workers that existed when the term began and have sent no heartbeat since.
        runs: Runs that hold something. Those in `leaving` were asked to end, or are ending.
        reserved: From the last plan.
        reservations: Reservations that are not over.
        spending: Budget spending; it applies only while the pool's machines have a price.
        time_slice_step: The step of the last plan that searched all runs with an expired time slice.
    """

    policy: PoolPolicy
    capacity: CapacityIndex
    yield_times: YieldTimes
    later: CapacityIndex | None = None
    running_allocations: RunningAllocations = field(default_factory=RunningAllocations)
    shares: SlotShares = field(default_factory=SlotShares)
    queue: Queue = field(default_factory=Queue)
    runs: dict[RunId, None] = field(default_factory=dict)
    leaving: dict[RunId, None] = field(default_factory=dict)
    charges: dict[RunId, RunCharge] = field(default_factory=dict)
    single_node: dict[tuple[ShareNode, int], int] = field(default_factory=dict)
    waiting_auxiliary: int = 0
    awaiting_slots: SlotCount = 0
    reserved: BackfillReservation | None = None
    silent_workers: set[WorkerId] = field(default_factory=set)
    reservations: dict[UUID, Reservation] = field(default_factory=dict)
    spending: Mapping[Path, BudgetSpending] = field(default_factory=dict)
    time_slice_step: int = -1
    elastic: ElasticRecords = field(default_factory=ElasticRecords)

    @property
    def waiting_slots(self) -> int:
        """Slots that could be used beyond the existing ones, within every maximum. Tenants share no slot:
        fractions are rounded up per tenant."""
        usable = self.shares.root.usable
        if isinstance(usable, int):
            return usable
        return sum(ceil(tenant.usable) for tenant in self.shares.root.children.values())

    @property
    def is_given_up(self) -> bool:
        """Whether the pool is closed: its provider is closing it, and it has no workers, runs or requests."""
        return self.policy.is_closing and not (len(self.capacity) or self.runs or len(self.queue))

    @property
    def allows_extra_slots(self) -> bool:
        """Whether runs may hold extra slots."""
        return self.policy.elastic and bool(self.elastic.of)

    @property
    def moves_in_steps(self) -> bool:
        """Whether the plan may change through the passing of time alone."""
        if self.allows_extra_slots or self.reservations:
            return True
        is_timed = self.policy.min_run > timedelta(0) or bool(self.policy.quantum) or self.policy.defragment
        return len(self.queue) > 0 and (self.shares.history is not None or is_timed)

    def apply_policy(self, policy: PoolPolicy, now_ms: int) -> None:
        """Apply another policy. Waiting requests and runs stay. Past usage is kept while the order is fair share."""
        self.policy = policy
        self.capacity = capacity_of(policy)
        self.later = capacity_of(policy) if policy.preempts else None
        self.running_allocations = RunningAllocations()
        self.apply_spending(self.spending)
        self.shares.serve_only(policy.only_tenant)
        history = self.shares.history
        if policy.order != "fair_share":
            self.shares.keep(None)
        elif history is None:
            self.keep_history(UsageHistory(Decay(policy.half_life, now_ms)), now_ms)
        elif history.decay.half_life != policy.half_life:
            self.keep_history(history.renewed(policy.half_life, now_ms), now_ms)

    def apply_spending(self, spending: Mapping[Path, BudgetSpending]) -> bool:
        """Set the spending of budgets. Return True if this changes what a holder may start."""
        self.spending = spending
        price = self.policy.price_per_slot_hour
        return self.shares.put_spending(spending, price) if price else self.shares.put_spending({}, 0.0)

    def pass_time(self, now_ms: int) -> None:
        """Drop expired reservations, and move the usage history to a new origin when its numbers have grown long."""
        over = [name for name, one in self.reservations.items() if one.end_ms <= now_ms]
        for name in over:
            del self.reservations[name]
        history = self.shares.history
        if history is not None and history.decay.is_old(now_ms):
            self.keep_history(history.renewed(self.policy.half_life, now_ms), now_ms)

    def keep_history(self, history: UsageHistory, now_ms: int) -> None:
        """Continue from a history without current usage: charge what the runs hold."""
        self.shares.keep(history)
        for charge in self.charges.values():
            history.charge(charge.leaf.upwards(), charge.slots, now_ms)

    def await_heartbeat(self, worker: Worker) -> None:
        """Track whether planning must wait for this worker's first heartbeat."""
        if worker.liveness is Liveness.READY and not worker.has_heartbeat:
            self.silent_workers.add(worker.id)
        else:
            self.silent_workers.discard(worker.id)

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Undo at the end whatever a plan has changed inside."""
        with self.capacity.tentative(), self.shares.tentative():
            if self.later is None:
                yield
                return
            with self.later.tentative():
                yield

    def leaf(self, whose: TrialRequest | Grant, policy: ExperimentPolicy) -> ShareNode:
        """Return the holder of a request or a run, and create it if it is new."""
        leaf = self.shares.leaves.get(whose.experiment)
        if leaf is None:
            leaf = self.shares.leaf_of(whose)
            self.rank(leaf, policy)
        return leaf

    def rank(self, leaf: ShareNode, policy: ExperimentPolicy) -> None:
        """Set an experiment's priority, weight and limits."""
        leaf.priority, leaf.max_runs = policy.priority, policy.max_trials
        self.shares.limit(leaf, Quota(0, policy.max_slots, policy.weight))

    def count(self, trial: Trial, policy: ExperimentPolicy, sign: int) -> None:
        """Add a waiting request to the queue (+1) or remove it (-1)."""
        needs = trial.request.needs
        if trial.state is RequestState.AWAITING:
            self.awaiting_slots += sign * needs.most
            return
        leaf = self.leaf(trial.request, policy)
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
        """Update a run's charge from its record. Return True if it changed."""
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

    def runs_on_machine(self, worker: WorkerId) -> list[RunningAllocation]:
        """Return the runs that must leave so that the machine of a worker can serve another tenant, each once.
        Only in pools that preempt."""
        assert self.later is not None
        peers = self.later.on_machine(worker)
        return list({one.run: one for peer in peers for one in self.running_allocations.on(peer)}.values())

    def is_freed_by_runs(self, worker: WorkerId) -> bool:
        """Whether the machine of a worker could serve another tenant once `runs_on_machine` have left."""
        assert self.later is not None
        spots = [(peer, spot) for peer in self.later.on_machine(worker) if (spot := self.later.get(peer))]
        return all(
            len(self.running_allocations.on(peer)) == spot.holds and not spot.is_held_elsewhere
            for peer, spot in spots
        )

    def is_on_one(self, needs: SlotNeeds) -> bool:
        """Whether all slots must be on one machine."""
        return needs.single_node or not self.policy.exclusive

    def _count_single_node(self, leaf: ShareNode, needs: SlotNeeds, sign: int) -> None:
        if self.is_on_one(needs):
            key = leaf.workspace, needs.max_slots
            count = self.single_node.get(key, 0) + sign
            self.single_node[key] = count
            if not count:
                del self.single_node[key]


def capacity_of(policy: PoolPolicy) -> CapacityIndex:
    """Return an empty capacity index with the placement rules of the policy."""
    return CapacityIndex(policy.exclusive, policy.topology, policy.placement == "spread")
