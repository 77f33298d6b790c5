"""Questions about queue, pools and runs, answered from the leader's memory; what has left it is read from the tables."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import text

from services.scheduler.core.fit import reach_of
from services.scheduler.core.indexes import Pool
from services.scheduler.core.order import ahead
from services.scheduler.core.pool import FIRST_PRIORITY, LAST_PRIORITY
from services.scheduler.core.refusals import Refusal, explain
from services.scheduler.core.trial import Needs, RequestState, Trial
from services.scheduler.core.worker import Drain, Liveness, Worker
from services.scheduler.cycle import Cycle
from services.scheduler.joining import Joining
from services.scheduler.pulse import Pulse
from services.scheduler.rules import rules_of
from services.scheduler.store.usage import load_usage
from shared.bus import Ask
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.db import Database
from shared.errors import NotFound, Rejected
from shared.ids import ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.pools import ClusterView, GetCluster, PoolView
from shared.messages.queue import (
    Explain,
    Explanation,
    GetQueue,
    Placeable,
    QueueEntry,
    QueuePage,
    ValidatePlacement,
)
from shared.messages.runs import AllocationFacts, GetAllocation
from shared.messages.usage import GetUsage, UsagePage
from shared.messages.workers import IssueJoin, Join, Renew, WorkerView

_ALLOCATION = text(
    "SELECT r.*, w.spec ->> 'code_hash' AS code_hash, w.spec ->> 'start_checkpoint' AS start_checkpoint,"
    " r.is_stale OR EXISTS (SELECT 1 FROM scheduler.run later WHERE later.trial = r.trial AND later.token > r.token)"
    " AS is_behind, ARRAY(SELECT m ->> 'worker' FROM jsonb_array_elements(r.members) m) AS workers"
    " FROM scheduler.run r JOIN scheduler.wanted w USING (trial) WHERE r.run = :run"
)
_CLOSED = text("SELECT state FROM scheduler.trial WHERE trial = :trial AND tenant = :tenant")
_MOST_ENTRIES = 500


@dataclass(frozen=True, slots=True)
class Queries:
    """One method a question."""

    cycle: Cycle
    pulse: Pulse
    joining: Joining
    database: Database
    clock: Clock

    def answers(self) -> Mapping[Question, Answer]:
        return {
            GetQueue: self.queue,
            Explain: self.explain,
            GetCluster: self.snapshot,
            ValidatePlacement: self.validate,
            GetAllocation: self.allocation,
            GetUsage: self.usage,
            IssueJoin: self.joining.issue,
            Join: self.joining.join,
            Renew: self.joining.renew,
        }

    async def queue(self, ask: Ask, query: GetQueue) -> QueuePage:
        """The tenant's requests: running ones first, then waiting ones in the order of the queue, pool by pool."""
        keyed = sorted((_order(entry), entry) for entry in self._entries(ask.tenant, query.pool))
        start = bisect_right([key for key, _ in keyed], query.after) if query.after else 0
        limit = max(1, min(query.limit, _MOST_ENTRIES))
        page = keyed[start : start + limit]
        more = len(keyed) > start + limit
        return QueuePage(entries=tuple(entry for _, entry in page), next=page[-1][0] if more else None)

    async def explain(self, ask: Ask, query: Explain) -> Explanation:
        trial = self.cycle.cluster.trials.get(query.trial_id)
        if trial is None or trial.wish.tenant != ask.tenant:
            return await self._explain_stored(ask.tenant, query.trial_id)
        if trial.is_closed:
            return _closed(trial.id)
        if trial.state is RequestState.RUNNING:
            return self._explain_running(trial)
        told = self._refusal(trial)
        return Explanation(
            trial_id=trial.id, state="waiting", code=told.code, message=told.message, facts=dict(told.facts)
        )

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
            return Placeable()
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
            row = (await connection.execute(_ALLOCATION, {"run": run})).one_or_none()
        if row is None:
            raise NotFound(f"run {run}")
        return AllocationFacts(
            tenant=row.tenant,
            experiment_id=ExperimentId(row.experiment),
            trial_id=TrialId(row.trial),
            run_id=RunId(row.run),
            run_number=row.number,
            token=row.token,
            members=tuple(WorkerId(worker) for worker in row.workers),
            stale=row.is_behind,
            code_hash=row.code_hash,
            start_checkpoint=row.start_checkpoint,
        )

    async def _explain_stored(self, tenant: TenantId, trial: TrialId) -> Explanation:
        async with self.database.tenant(tenant) as connection:
            row = (await connection.execute(_CLOSED, {"trial": trial, "tenant": tenant})).one_or_none()
        if row is None:
            return Explanation(
                trial_id=trial, state="unknown", code="unknown", message="the scheduler knows no such trial"
            )
        return _closed(trial)

    def _explain_running(self, trial: Trial) -> Explanation:
        run = self.cycle.cluster.runs[trial.run or RunId(trial.id)]
        workers = ", ".join(share.worker for share in run.shares)
        message = f"run {run.number} has {run.slots} slots of pool {run.pool} on {workers}"
        if run.preempted:
            message += "; it was asked to give them back for another request"
        return Explanation(
            trial_id=trial.id,
            state="running",
            code="preempting" if run.preempted else "running",
            message=message,
            facts={"run": run.number, "slots": run.slots, "pool": run.pool, "restarts": trial.restarts},
        )

    def _entries(self, tenant: TenantId, pool: PoolName | None) -> list[QueueEntry]:
        cluster = self.cycle.cluster
        live = (cluster.trials[trial] for trials in cluster.live.values() for trial in trials)
        return [
            self._entry(trial)
            for trial in live
            if trial.wish.tenant == tenant and pool in (None, cluster.pool_of(trial))
        ]

    def _entry(self, trial: Trial) -> QueueEntry:
        cluster = self.cycle.cluster
        is_running = trial.state is RequestState.RUNNING
        told = None if is_running else self._refusal(trial)
        pool = cluster.pools[cluster.pool_of(trial)]
        return QueueEntry(
            trial_id=trial.id,
            experiment_id=trial.wish.experiment,
            experiment_number=trial.wish.experiment_number,
            trial_number=trial.wish.number,
            pool=cluster.pool_of(trial),
            priority=cluster.part_of(trial).priority,
            slots=trial.wish.needs.max_slots,
            state="running" if is_running else "waiting",
            position=ahead(pool, trial.id) + 1 if trial.id in pool.queue else None,
            code=told.code if told else None,
            reason=told.message if told else None,
            since=trial.since,
        )

    def _refusal(self, trial: Trial) -> Refusal:
        return explain(self.cycle.cluster, trial, self.cycle.term.refusals.get(trial.id))

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


def _order(entry: QueueEntry) -> str:
    place = 0 if entry.position is None else entry.position
    return f"{entry.pool}:{entry.state}:{place:09d}:{entry.trial_id}"


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


def _closed(trial: TrialId) -> Explanation:
    return Explanation(
        trial_id=trial, state="closed", code="closed", message="the trial waits for nothing: it has ended"
    )
