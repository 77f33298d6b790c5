"""The leader's loop: apply events, plan, save, publish. Only this loop modifies the cluster.

Handlers, queries and heartbeats push events; `desired_state` sends desired sets to the workers.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from services.scheduler import metrics
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.planning.plan import Demand, SchedulingPlan
from services.scheduler.core.scheduling import Event as TurnEvent, defer_save, run_cycle
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.serialization import to_json
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.unsaved import Unsaved
from services.scheduler.events import Announcer, demanded
from services.scheduler.store import rows, save
from services.scheduler.store.requests import StoredRequest
from shared.bus import Unit, Units
from shared.clock import Clock
from shared.database.leases import Lease
from shared.ids import SITE, PoolName, TrialId, WorkerId
from shared.runtime import faults

BEFORE_SAVE = faults.register("scheduler.before_save")
AFTER_SAVE = faults.register("scheduler.after_save")
LEASE = "leader"
TICK_S = 1.0
PUBLISH_DEMAND_S = 1.0
"""Changes of demand are published at most once in this time, because each one makes the provisioner and the
searcher react."""
KEEP_S = 600.0
"""How long a closed trial or an ended run stays in memory."""

Event = Callable[["Cycle"], None]
"""Applies something that has happened to the state. Must not fail for external reasons."""


@dataclass(slots=True)
class LeaderTerm:
    """The state of one leader's term: its epoch and when that began, its cluster, and the tokens that it may use."""

    epoch: int
    since: datetime
    cluster: Cluster
    next_token: int
    last_token: int
    last_submission_order: int
    stored_requests: dict[TrialId, StoredRequest] = field(default_factory=dict)
    run_traces: dict[TrialId, str | None] = field(default_factory=dict)
    refusals: dict[TrialId, WaitReason] = field(default_factory=dict)
    demands: dict[PoolName, Demand] = field(default_factory=dict)
    published_demands: dict[PoolName, tuple[Demand, float]] = field(default_factory=dict)
    demand_version: int = 0
    saved: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared while memory is ahead of the tables: no worker may learn of a grant that is not saved."""

    def __post_init__(self) -> None:
        self.saved.set()


class Cycle:
    """Runs one scheduling cycle after another, woken by events, at least once per second.

    Args:
        send: Sends the desired sets of these workers; called after the commit.
    """

    def __init__(
        self,
        term: LeaderTerm,
        units: Units,
        lease: Lease,
        clock: Clock,
        send: Callable[[Iterable[WorkerId]], None],
    ) -> None:
        self.term = term
        self.cluster = term.cluster
        self.clock = clock
        self._units = units
        self._lease = lease
        self._send = send
        self.edits = 0
        self.spending = asyncio.Event()
        """Set when a grant costs money; the waiting task clears it."""
        self._events: list[Event] = []
        self._woken = asyncio.Event()
        self._announcer = Announcer(term.cluster, self.trace_of)

    def push(self, event: Event) -> None:
        """Apply `event` in the next cycle, which starts as soon as the current one has ended."""
        self._events.append(event)
        self._woken.set()

    def edit(self, event: Event) -> None:
        """Like `push`, for stored policy changes. Counted, so that a reader of the tables can detect that it
        read an older version."""
        self.edits += 1
        self.push(event)

    async def run(self, ended: asyncio.Event) -> None:
        """Run cycles until the term has ended.

        Raises:
            Conflict: `not_leader`: another process holds the lease.
            Transient: A cycle could not be saved. Memory is then ahead of the tables, and a new term must load them.
        """
        while not ended.is_set():
            self._woken.clear()
            with metrics.CYCLE_DURATION.time():
                await self.run_once()
            if not self._events:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), TICK_S)

    async def run_once(self) -> None:
        """Run one scheduling cycle."""
        # 1. Stop if the lease may be lost.
        _ = self._lease.epoch
        # 2. Apply events (requests, observed sets, lost workers, drains) and advance the clock;
        #    plan the pools that changed, and apply the plan.
        with metrics.PLAN_DURATION.time():
            result = run_cycle(self.cluster, self._take_events(), self._next_token, self.clock.now())
        # 3. Keep the plan's refusals and demands for queries.
        self._keep_plan(result.plan)
        # 4. Save the changes and publish them, in one transaction that commits only under our epoch.
        changes, demands = result.unsaved, self._due_demands()
        if _is_worth_saving(changes) or demands:
            self.term.saved.clear()
            await self._save_and_publish(changes, demands)
            self.term.saved.set()
            if any(one.until is None and one.price_per_slot_hour for one in changes.usage_entries):
                self.spending.set()
        else:
            defer_save(self.cluster, changes)
        # 5. Send the new desired sets.
        self._send(changes.desired)

    def trace_of(self, trial: TrialId) -> dict[str, str]:
        """Return the trace headers of a trial's request."""
        stored = self.term.stored_requests.get(trial)
        return {"traceparent": stored.traceparent} if stored and stored.traceparent else {}

    def forget_old(self) -> None:
        """Drop trials and runs from memory that ended long ago and are no longer waited for."""
        now = self.clock.now()
        cluster = self.cluster
        ended = [
            run
            for run in cluster.runs.values()
            if run.ended_at
            and run.progress.is_settled
            and run.is_over
            and (now - run.ended_at).total_seconds() > KEEP_S
        ]
        cluster.forget(runs=[run.id for run in ended])
        closed = [
            trial.id
            for trial in cluster.trials.values()
            if trial.is_closed
            and (now - trial.since).total_seconds() > KEEP_S
            and trial.run not in cluster.runs
        ]
        cluster.forget(trials=closed)
        for trial_id in closed:
            self.term.stored_requests.pop(trial_id, None)
            self.term.run_traces.pop(trial_id, None)

    def _take_events(self) -> list[TurnEvent]:
        events, self._events = self._events, []
        return [_bound(event, self) for event in events]

    def _keep_plan(self, planned: SchedulingPlan) -> None:
        for grant in planned.grants:
            self.term.refusals.pop(grant.trial, None)
        self.term.refusals |= planned.refusals
        self.term.demands |= planned.demand

    def _due_demands(self) -> dict[PoolName, Demand]:
        """Return the demands to publish: new ones immediately, changed ones at most once per second and pool."""
        now = self.clock.monotonic()
        due: dict[PoolName, Demand] = {}
        for pool, demand in self.term.demands.items():
            published, at = self.term.published_demands.get(pool, (None, 0.0))
            if demand != published and (published is None or now - at >= PUBLISH_DEMAND_S):
                due[pool] = demand
        return due

    async def _save_and_publish(self, changes: Unsaved, demands: dict[PoolName, Demand]) -> None:
        faults.point(BEFORE_SAVE)
        async with self._units.system() as unit:
            traces = self._announcer.emit(unit, changes.facts)
            for pool, demand in demands.items():
                self.term.demand_version += 1
                version = (self.term.epoch << 24) + self.term.demand_version
                unit.emit(*demanded(pool, demand, version), tenant=SITE)
            await self._save(unit, changes)
            if self.term.next_token > self.term.last_token - 1000:
                self.term.next_token = await save.next_token_block(unit.connection)
                self.term.last_token = self.term.next_token + save.BLOCK - 1
        faults.point(AFTER_SAVE)
        metrics.observe_grants(changes.facts)
        self.term.run_traces |= traces
        now = self.clock.monotonic()
        self.term.published_demands |= {pool: (demand, now) for pool, demand in demands.items()}

    async def _save(self, unit: Unit, changes: Unsaved) -> None:
        cluster = self.cluster
        trials = {**changes.trials, **changes.lazy_trials}
        runs = {**changes.runs, **changes.lazy_runs}
        # Publishing a worker raises its version, so workers are collected last.
        workers = {**changes.workers, **cluster.unsaved.workers}
        cluster.unsaved.workers.clear()
        written = save.CycleRows(
            trials=[self._trial_row(cluster.trials[t]) for t in trials if t in cluster.trials],
            runs=[rows.run_row(cluster.runs[r]) for r in runs if r in cluster.runs],
            workers=[rows.worker_row(cluster.workers[w], unit.now) for w in workers if w in cluster.workers],
            usage_entries=[rows.usage_entry_row(usage_entry) for usage_entry in changes.usage_entries],
        )
        await save.save_under(unit.connection, LEASE, self._lease.epoch, written)

    def _trial_row(self, trial: Trial) -> rows.Row:
        pool = self.cluster.pools.get(self.cluster.pool_of(trial))
        record = pool.elastic.of.get(trial.id) if pool else None
        return rows.trial_row(trial, to_json(record) if record else None)

    def _next_token(self) -> int:
        token, self.term.next_token = self.term.next_token, self.term.next_token + 1
        return token


def _is_worth_saving(changes: Unsaved) -> bool:
    return bool(changes.facts or changes.trials or changes.runs or changes.workers or changes.usage_entries)


def _bound(event: Event, cycle: Cycle) -> TurnEvent:
    return lambda cluster, now: event(cycle)
