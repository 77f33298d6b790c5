"""Loads the state at the start of a leader's term. Everything else is relearned from heartbeats."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Double, Numeric, cast, exists, extract, func, or_, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.reducers import draining, pause_measurements, requests
from services.scheduler.core.reducers.budgets import on_spending
from services.scheduler.core.state.bulk_load import loading
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.records import ElasticRecord
from services.scheduler.core.state.indexes.elastic.serialization import from_json
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.run import PauseTimes
from services.scheduler.core.state.records.spending import month_of
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.core.state.unsaved import Unsaved
from services.scheduler.store.budgets import load_accounts, spending_of
from services.scheduler.store.policies import load_pools, load_quotas
from services.scheduler.store.requests import StoredRequest, load_policies, stored_request_of
from services.scheduler.store.reservations import load_reservations
from services.scheduler.store.rows import run_of, trial_of, usage_entry_of, worker_of
from services.scheduler.store.tables import run, trial, trial_request, usage_entry, worker
from services.scheduler.store.usage_history import load_averages
from services.scheduler.store.workers import load_worker_commands
from shared.ids import ExperimentId, PoolName, TrialId
from shared.messages.trial_specs import TrialSpec

_a, _b = trial.alias("a"), run.alias("b")
_awaited = select(_a).join(_b, _b.c.run == _a.c.awaited_run).where(_b.c.settled < _a.c.awaited_checkpoints)
"""Trials, including closed ones, whose last run has announced checkpoints that are not settled."""
# Includes workers marked as removed whose liveness is not `removed` yet: their runs must still be ended, by lease expiry or reconciliation.
_WORKERS = select(worker).where(worker.c.liveness != "removed").order_by(worker.c.worker)
_TRIALS = (
    select(trial, trial_request.c.spec)
    .join(trial_request, trial_request.c.trial == trial.c.trial)
    .where(
        or_(
            trial.c.state != "closed",
            trial.c.trial.in_(_awaited.with_only_columns(_a.c.trial)),
            trial_request.c.request > trial.c.request,
        )
    )
    .order_by(trial.c.submission_order)
)
_RUNS = (
    select(
        run,
        func.coalesce(trial_request.c.spec["workspace"].astext, "Uncategorized").label("workspace"),
        func.coalesce(trial_request.c.spec["owner"].astext, "").label("owner"),
    )
    .join(trial_request, trial_request.c.trial == run.c.trial)
    .where(or_(run.c.state != "ended", run.c.run.in_(_awaited.with_only_columns(_a.c.awaited_run))))
    .order_by(run.c.token)
)
_NEW_REQUESTS = (
    select(trial_request)
    .outerjoin(trial, trial.c.trial == trial_request.c.trial)
    .where(or_(trial.c.trial.is_(None), trial.c.state != "closed", trial_request.c.request > trial.c.request))
    .order_by(trial_request.c.stored_at, trial_request.c.trial)
)
_USAGE_ENTRIES = select(usage_entry).where(usage_entry.c.until.is_(None))
_LATELY = 2000
_ended = (
    select(run)
    .where(run.c.ended_at.is_not(None))
    .order_by(run.c.ended_at.desc())
    .limit(_LATELY)
    .subquery("ended")
)
_member = func.jsonb_array_elements(_ended.c.members, type_=JSONB).column_valued("member")
_LENGTHS = (
    select(
        _ended.c.pool,
        _ended.c.experiment,
        (cast(extract("epoch", _ended.c.ended_at - _ended.c.granted_at), Double) * 1000).label("length_ms"),
    )
    .where(exists().where(cast(_member["slots"].astext, Numeric) > 0))
    .order_by(_ended.c.ended_at)
)
"""The newest ends, oldest first."""
_paused = (
    select(run).where(run.c.pause_times.is_not(None)).order_by(run.c.token.desc()).limit(_LATELY).subquery()
)
_PAUSES = select(_paused.c.experiment, _paused.c.pause_times).order_by(_paused.c.token)
_LAST_SUBMISSION_ORDER = select(func.coalesce(func.max(trial.c.submission_order), 0))


@dataclass(slots=True)
class LoadedState:
    """The loaded cluster, the requests with the data that the core does not read, and the last submission order."""

    cluster: Cluster
    stored_requests: dict[TrialId, StoredRequest] = field(default_factory=dict)
    last_submission_order: int = 0


async def load_state(connection: AsyncConnection, now: datetime) -> LoadedState:
    """Load pools, workers, live runs and requests, then apply requests that no cycle has applied yet."""
    cluster = Cluster()
    cluster.advance_to(now)
    for policy in await load_pools(connection):
        cluster.put_pool(policy)
        await _load_past(cluster.pools[policy.name], connection, now)
    for pool, path, quota in await load_quotas(connection):
        if pool in cluster.pools:
            cluster.put_quota(pool, path, quota)
    cluster.apply(on_spending(cluster, spending_of(await load_accounts(connection, month_of(now), now))))
    for reservation in await load_reservations(connection, now):
        cluster.apply(requests.on_reserved(cluster, reservation))
    for row in await connection.execute(_WORKERS):
        cluster.put_worker(worker_of(row))
    known = await _load_trials(connection)
    stored = [stored_request_of(row) for row in await connection.execute(_NEW_REQUESTS)]
    await _load_experiment_policies(cluster, connection, known, stored)
    runs = [run_of(row) for row in await connection.execute(_RUNS)]
    with loading(cluster):
        # Trials first: charging a run needs its trial.
        for trial, elastic in known:
            cluster.put_trial(trial)
            if elastic is not None:
                cluster.pools[cluster.pool_of(trial)].elastic.of[trial.id] = elastic
        for run in runs:
            cluster.put_run(run)
    cluster.ledger.load([usage_entry_of(row) for row in await connection.execute(_USAGE_ENTRIES)])
    cluster.ledger.end_unknown(cluster.workers, now)
    for row in await connection.execute(_LENGTHS):
        cluster.run_durations.add(PoolName(row.pool), ExperimentId(row.experiment), row.length_ms)
    paused = await connection.execute(_PAUSES)
    cluster.apply(
        pause_measurements.on_term(
            cluster, ((ExperimentId(row.experiment), PauseTimes(**row.pause_times)) for row in paused)
        )
    )
    cluster.unsaved = Unsaved(pools=dict.fromkeys(cluster.pools))
    last_submission_order = int((await connection.execute(_LAST_SUBMISSION_ORDER)).scalar_one())
    world = LoadedState(cluster, {one.request.trial: one for one in stored}, last_submission_order)
    for one in stored:
        world.last_submission_order += 1
        cluster.apply(requests.on_request(cluster, one.request, world.last_submission_order, now))
    for kept in await load_worker_commands(connection):
        cluster.apply(draining.on_drain(cluster, kept.worker, reclaim=kept.reclaim, undo=not kept.drain))
    return world


async def _load_past(pool: Pool, connection: AsyncConnection, now: datetime) -> None:
    history = pool.shares.history
    if history is not None:
        averages = await load_averages(connection, pool.policy.name, pool.policy.half_life, now)
        for path, average in averages:
            history.remember(path, average, milliseconds(now))


async def _load_trials(connection: AsyncConnection) -> list[tuple[Trial, ElasticRecord | None]]:
    """Load trials, with the records of elastic ones."""
    found = await connection.execute(_TRIALS)
    return [
        (
            trial_of(row, TrialSpec.model_validate(row.spec)),
            from_json(row.elastic) if row.elastic is not None and row.state != RequestState.CLOSED else None,
        )
        for row in found
    ]


async def _load_experiment_policies(
    cluster: Cluster,
    connection: AsyncConnection,
    known: list[tuple[Trial, ElasticRecord | None]],
    stored: list[StoredRequest],
) -> None:
    experiments: set[ExperimentId] = {trial.request.experiment for trial, _ in known}
    experiments |= {one.request.experiment for one in stored}
    for experiment, policy in (await load_policies(connection, experiments)).items():
        cluster.put_experiment_policy(experiment, policy)
