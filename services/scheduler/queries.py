"""Questions about queue, pools and runs, answered from the leader's memory; what has left it is read from the tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.scheduler.core.elastic.advice import lending_warnings
from services.scheduler.core.fit import reach_of
from services.scheduler.core.indexes import Pool
from services.scheduler.core.pool import FIRST_PRIORITY, LAST_PRIORITY
from services.scheduler.core.trial import Needs
from services.scheduler.core.worker import Drain, Liveness, Worker
from services.scheduler.cycle import Cycle
from services.scheduler.explaining import Explaining
from services.scheduler.joining import Joining
from services.scheduler.listing import page_of
from services.scheduler.pulse import Pulse
from services.scheduler.rules import rules_of
from services.scheduler.store.runs import load_allocation
from services.scheduler.store.usage import load_usage
from shared.bus import Ask
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.db import Database
from shared.errors import NotFound, Rejected
from shared.ids import PoolName, RunId
from shared.messages.pools import ClusterView, GetCluster, PoolView
from shared.messages.queue import (
    Explain,
    GetQueue,
    Placeable,
    QueuePage,
    ValidatePlacement,
)
from shared.messages.runs import AllocationFacts, GetAllocation
from shared.messages.usage import GetUsage, UsagePage
from shared.messages.workers import IssueJoin, Join, Renew, WorkerView


@dataclass(frozen=True, slots=True)
class Queries:
    """One method a question."""

    cycle: Cycle
    pulse: Pulse
    joining: Joining
    explaining: Explaining
    database: Database
    clock: Clock

    def answers(self) -> Mapping[Question, Answer]:
        return {
            GetQueue: self.queue,
            Explain: self.explaining.explain,
            GetCluster: self.snapshot,
            ValidatePlacement: self.validate,
            GetAllocation: self.allocation,
            GetUsage: self.usage,
            IssueJoin: self.joining.issue,
            Join: self.joining.join,
            Renew: self.joining.renew,
        }

    async def queue(self, ask: Ask, query: GetQueue) -> QueuePage:
        return page_of(self.cycle.term, ask.tenant, query)

    async def snapshot(self, ask: Ask, query: GetCluster) -> ClusterView:
        cluster = self.cycle.cluster
        pools = tuple(_pool_view(name, pool) for name, pool in sorted(cluster.pools.items()))
        present = [
            worker for _, worker in sorted(cluster.workers.items()) if worker.liveness is not Liveness.GONE
        ]
        return ClusterView(pools=pools, workers=tuple(self._worker_view(worker) for worker in present))

    async def validate(self, ask: Ask, query: ValidatePlacement) -> Placeable:
        """Could this ever be placed: in what stands, or in what the provider may bring the pool to."""
        if query.priority is not None and not FIRST_PRIORITY <= query.priority <= LAST_PRIORITY:
            raise Rejected(
                "bad_priority",
                f"priority {query.priority} is not between {FIRST_PRIORITY} and {LAST_PRIORITY}",
                "resources.priority",
            )
        pool = self.cycle.cluster.pools.get(query.pool)
        if pool is None:
            known = ", ".join(sorted(self.cycle.cluster.pools))
            raise Rejected(
                "pool_unknown",
                f"pool {query.pool} does not exist",
                "resources.resource_pool",
                f"there is {known}" if known else None,
            )
        needs = Needs(query.min_slots, query.max_slots, query.kind, query.single_node)
        reach = reach_of(pool.capacity, pool.policy, ask.tenant, needs)
        if query.min_slots <= reach.slots:
            return Placeable(warnings=lending_warnings(pool.policy, needs, reach))
        message = f"slots for a trial: {query.min_slots} asked for; pool {query.pool} can have {reach.slots} {reach.where}"
        if reach.is_final and query.kind and not reach.slots:
            hint = "ask for another kind, or choose another pool with resources.resource_pool"
            raise Rejected("slots_unsatisfiable", message, "resources.slot_kind", hint)
        if reach.is_final:
            hint = "ask for fewer slots, or choose a larger pool with resources.resource_pool"
            raise Rejected("slots_unsatisfiable", message, "resources.slots_per_trial", hint)
        return Placeable(warnings=(f"{message} now; the trial will wait until it has grown",))

    async def allocation(self, ask: Ask, query: GetAllocation) -> AllocationFacts:
        cluster = self.cycle.cluster
        run = cluster.runs.get(query.run_id)
        carried = self.cycle.term.carried.get(run.trial) if run else None
        if run is None or carried is None:
            return await self._stored_allocation(query.run_id)
        trial = cluster.trials.get(run.trial)
        return AllocationFacts(
            tenant=run.tenant,
            experiment_id=run.experiment,
            trial_id=run.trial,
            run_id=run.id,
            run_number=run.number,
            token=run.token,
            members=tuple(share.worker for share in run.shares),
            stale=run.is_stale or (trial is not None and trial.run != run.id),
            code_hash=carried.spec.code_hash,
            start_checkpoint=carried.spec.start_checkpoint,
        )

    async def usage(self, ask: Ask, query: GetUsage) -> UsagePage:
        async with self.database.tenant(ask.tenant) as connection:
            return await load_usage(connection, query, self.clock.now())

    async def _stored_allocation(self, run: RunId) -> AllocationFacts:
        async with self.database.system() as connection:
            found = await load_allocation(connection, run)
        if found is None:
            raise NotFound(f"run {run}")
        return found

    def _worker_view(self, worker: Worker) -> WorkerView:
        now = self.clock.now()
        state = (
            "lost"
            if worker.liveness is Liveness.LOST
            else "ready"
            if worker.drain is Drain.OPEN
            else "draining"
        )
        return WorkerView(
            worker=worker.id,
            pool=worker.pool,
            address=worker.address,
            state=state,
            slots=len(worker.slot_ids),
            used_slots=worker.used_slots,
            slot_kind=worker.kind,
            last_heard=self.pulse.last_heard(worker.id) or worker.joined_at or now,
            isolated_user=worker.is_isolated,
            labels=dict(worker.labels),
        )


def _pool_view(name: PoolName, pool: Pool) -> PoolView:
    return PoolView(
        pool=name,
        slot_kind=pool.policy.kind,
        workers=len(pool.capacity),
        slots=pool.capacity.total,
        used_slots=pool.capacity.total - pool.capacity.free,
        waiting_slots=pool.waiting_slots,
        preemption=pool.policy.preemption,
        exclusive=pool.policy.exclusive,
        max_slots=pool.policy.max_slots,
        rules=rules_of(pool.policy),
    )
