"""Queries about queue, pools and runs, answered from the leader's memory, or from the tables for records that
have left it."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.scheduler.admin.budgets import BudgetMonitor
from services.scheduler.admin.reservations import ReservationCommands
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool, open_pools
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.worker import Liveness, Worker
from services.scheduler.core.state.worker_loads import load_of
from services.scheduler.cycle import Cycle
from services.scheduler.queries.explaining import Explainer
from services.scheduler.queries.forecasting import with_starts
from services.scheduler.queries.listing import page_of
from services.scheduler.queries.outlook import outlook_of
from services.scheduler.queries.validating import validate_placement
from services.scheduler.store.pool_rules import rules_of
from services.scheduler.store.runs import is_deleted, load_allocation
from services.scheduler.store.usage import load_usage
from services.scheduler.workers.heartbeats import Heartbeats
from services.scheduler.workers.joining import Joining
from shared.bus import RequestContext
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import NotFound, Rejected
from shared.ids import RunId
from shared.messages.budgets import GetBudgets, SetBudget
from shared.messages.plans import GetOutlook, Outlook
from shared.messages.pools import ClusterView, GetCluster, PoolView
from shared.messages.queue import (
    Explain,
    GetQueue,
    Placeable,
    QueuePage,
    ValidatePlacement,
)
from shared.messages.reservations import GetReservations
from shared.messages.runs import RUN_DELETED, AllocationFacts, GetAllocation
from shared.messages.usage import GetUsage, UsagePage
from shared.messages.workers import GetWorkerKey, IssueJoin, Join, Renew, WorkerView


@dataclass(frozen=True, slots=True)
class Queries:
    """One method per query."""

    cycle: Cycle
    heartbeats: Heartbeats
    joining: Joining
    explaining: Explainer
    budgets: BudgetMonitor
    database: Database
    clock: Clock

    def answers(self) -> Mapping[Question, Answer]:
        return {
            GetQueue: self.queue,
            Explain: self.explaining.explain,
            GetCluster: self.snapshot,
            GetOutlook: self.outlook,
            ValidatePlacement: self.validate,
            GetAllocation: self.allocation,
            GetUsage: self.usage,
            GetBudgets: self.budgets.get,
            SetBudget: self.budgets.set,
            GetReservations: ReservationCommands(self.cycle).reservations,
            IssueJoin: self.joining.issue,
            Join: self.joining.join,
            Renew: self.joining.renew,
            GetWorkerKey: self.joining.key_of,
        }

    async def queue(self, ask: RequestContext, query: GetQueue) -> QueuePage:
        page = page_of(self.cycle.term, ask.tenant, query)
        return await with_starts(self.cycle.term, page, self.clock) if query.starts else page

    async def snapshot(self, ask: RequestContext, query: GetCluster) -> ClusterView:
        cluster = self.cycle.cluster
        refresh(cluster)
        pools = tuple(pool_view(cluster, pool) for pool in open_pools(cluster.pools).values())
        present = [
            worker for _, worker in sorted(cluster.workers.items()) if worker.liveness is not Liveness.REMOVED
        ]
        return ClusterView(pools=pools, workers=tuple(self._worker_view(worker) for worker in present))

    async def outlook(self, ask: RequestContext, query: GetOutlook) -> Outlook:
        cluster = self.cycle.cluster
        refresh(cluster)
        found = open_pools(cluster.pools).get(query.pool)
        if found is None:
            raise NotFound(f"pool {query.pool}")
        here = [
            self._worker_view(one) for _, one in sorted(cluster.workers.items()) if _is_present(one, found)
        ]
        return outlook_of(
            cluster, found, (ask.tenant, query.workspace), pool_view(cluster, found), tuple(here)
        )

    async def validate(self, ask: RequestContext, query: ValidatePlacement) -> Placeable:
        return validate_placement(self.cycle.cluster, ask.tenant, query)

    async def allocation(self, ask: RequestContext, query: GetAllocation) -> AllocationFacts:
        cluster = self.cycle.cluster
        run = cluster.runs.get(query.run_id)
        stored = self.cycle.term.stored_requests.get(run.trial) if run else None
        if run is None or stored is None:
            return await self._stored_allocation(query.run_id)
        trial = cluster.trials.get(run.trial)
        is_stale = run.is_stale or (trial is not None and trial.run != run.id)
        exited = {worker for worker, _ in run.exits}
        holders = () if run.is_ended or is_stale else (share.worker for share in run.shares)
        return AllocationFacts(
            tenant=run.tenant,
            experiment_id=run.experiment,
            trial_id=run.trial,
            run_id=run.id,
            run_number=run.number,
            token=run.token,
            members=(*(share.worker for share in run.shares), *sorted(run.gang.former)),
            stale=is_stale,
            code_hash=stored.spec.code_hash,
            start_checkpoint=stored.spec.start_checkpoint,
            holders=tuple(worker for worker in holders if worker not in exited),
        )

    async def usage(self, ask: RequestContext, query: GetUsage) -> UsagePage:
        async with self.database.read(ask.tenant) as connection:
            return await load_usage(connection, query, self.clock.now())

    async def _stored_allocation(self, run: RunId) -> AllocationFacts:
        async with self.database.system() as connection:
            found = await load_allocation(connection, run)
            if found is None and await is_deleted(connection, run):
                raise Rejected(RUN_DELETED, f"run {run} belongs to a deleted experiment")
        if found is None:
            raise NotFound(f"run {run}")
        return found

    def _worker_view(self, worker: Worker) -> WorkerView:
        now, load = self.clock.now(), load_of(self.cycle.cluster, worker)
        is_lost = worker.liveness is Liveness.LOST
        return WorkerView(
            worker=worker.id,
            pool=worker.pool,
            address=worker.address,
            state="lost" if is_lost else "draining" if worker.is_emptying else "ready",
            slots=len(worker.slot_ids),
            used_slots=load.used_slots,
            run_slots=load.pieces,
            gangs=load.gangs,
            tenant=load.tenant,
            slot_kind=worker.kind,
            last_heartbeat_at=self.heartbeats.last_heartbeat(worker.id) or worker.joined_at or now,
            isolated_user=worker.is_isolated,
            labels=dict(worker.labels),
            slot_ids=worker.slot_ids,
            disabled_slots=tuple(sorted(worker.disabled)),
            trouble=None if is_lost else worker.trouble or self._refusal_of(worker),
            machine=worker.machine,
            isolation=worker.isolation,
            isolation_detail=worker.isolation_detail,
        )

    def _refusal_of(self, worker: Worker) -> str | None:
        pool = self.cycle.cluster.pools.get(worker.pool)
        return pool.policy.refusal_of(worker) if pool else None


def _is_present(worker: Worker, pool: Pool) -> bool:
    return worker.pool == pool.policy.name and worker.liveness is not Liveness.REMOVED


def pool_view(cluster: Cluster, pool: Pool) -> PoolView:
    """Return the pool's totals: machines that accept work, plus the slots that runs still hold on machines that
    accept none, so that unused slots are free to be granted."""
    closed = (cluster.workers[name] for name in cluster.closed)
    held = [one.used_slots for one in closed if one.pool == pool.policy.name and one.used_slots]
    return PoolView(
        pool=pool.policy.name,
        slot_kind=pool.policy.kind,
        workers=len(pool.capacity) + len(held),
        slots=pool.capacity.total + sum(held),
        used_slots=pool.capacity.total - pool.capacity.free + sum(held),
        waiting_slots=pool.waiting_slots,
        preemption=pool.policy.preemption,
        exclusive=pool.policy.exclusive,
        trusted=pool.policy.trusted,
        max_slots=pool.policy.max_slots,
        rules=rules_of(pool.policy),
    )
