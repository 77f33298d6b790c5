"""The world as the tables have it, at the start of a leader's term; what they do not say is relearned from heartbeats."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.budgets import month_of, on_spending
from services.scheduler.core.changes import Changes
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.elastic.records import Record
from services.scheduler.core.elastic.saving import record_of
from services.scheduler.core.events import draining, stops, wishes
from services.scheduler.core.indexes import Pool
from services.scheduler.core.loading import loading
from services.scheduler.core.pauses import Took
from services.scheduler.core.queue import milliseconds
from services.scheduler.core.trial import RequestState, Trial
from services.scheduler.store.budgets import load_accounts, spending_of
from services.scheduler.store.past import load_averages
from services.scheduler.store.policies import load_pools, load_quotas
from services.scheduler.store.reservations import load_reservations
from services.scheduler.store.rows import holding_of, run_of, trial_of, worker_of
from services.scheduler.store.wishes import StoredWish, load_parts, stored_wish_of
from services.scheduler.store.workers import load_worker_wishes
from shared.ids import ExperimentId, PoolName, TrialId
from shared.messages.specs import TrialSpec

# Also those that are removed and have not gone yet: their runs are still to be ended, and silence or the slow loop does it.
_WORKERS = text("SELECT * FROM scheduler.worker WHERE liveness <> 'gone' ORDER BY worker")
_AWAITED = "FROM scheduler.trial a JOIN scheduler.run b ON b.run = a.awaited_run WHERE b.settled < a.awaited_announced"
"""Trials, closed ones too, whose last run has announced checkpoints that are not settled."""
_TRIALS = text(
    "SELECT t.*, w.spec FROM scheduler.trial t JOIN scheduler.wanted w USING (trial)"
    f" WHERE t.state <> 'closed' OR t.trial IN (SELECT a.trial {_AWAITED}) OR w.request > t.request"
    " ORDER BY t.place"
)
_RUNS = text(
    "SELECT r.*, coalesce(w.spec ->> 'workspace', 'Uncategorized') AS workspace, coalesce(w.spec ->> 'owner', '') AS owner"
    " FROM scheduler.run r JOIN scheduler.wanted w USING (trial) WHERE r.state <> 'ended' OR r.run IN"
    f" (SELECT a.awaited_run {_AWAITED})"
    " ORDER BY r.token"
)
_NEW_WISHES = text(
    "SELECT w.trial, w.tenant, w.experiment, w.version, w.request, w.wanted, w.decide_at, w.spec, w.traceparent"
    " FROM scheduler.wanted w LEFT JOIN scheduler.trial t USING (trial)"
    " WHERE t.trial IS NULL OR t.state <> 'closed' OR w.request > t.request ORDER BY w.stored_at, w.trial"
)
_HOLDINGS = text("SELECT * FROM scheduler.holding WHERE until IS NULL")
_LENGTHS = text(
    "SELECT pool, experiment, extract(epoch FROM ended_at - granted_at)::float8 * 1000 AS length_ms FROM"
    " (SELECT * FROM scheduler.run WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 2000) lately"
    " WHERE EXISTS (SELECT 1 FROM jsonb_array_elements(members) m WHERE (m ->> 'slots')::numeric > 0) ORDER BY ended_at"
)
"""Of the newest ends, the oldest first."""
_PAUSES = text(
    "SELECT experiment, took FROM (SELECT * FROM scheduler.run WHERE took IS NOT NULL ORDER BY token DESC LIMIT 2000) lately"
    " ORDER BY token"
)
_LAST_PLACE = text("SELECT coalesce(max(place), 0) FROM scheduler.trial")


@dataclass(slots=True)
class World:
    """A cluster, the wishes that it carries unread, and the last place given."""

    cluster: Cluster
    carried: dict[TrialId, StoredWish] = field(default_factory=dict)
    last_place: int = 0


async def load_world(connection: AsyncConnection, now: datetime) -> World:
    """Reads pools, workers, live runs and requests, then applies wishes that no cycle has taken up yet."""
    cluster = Cluster()
    cluster.advance_to(now)
    for policy in await load_pools(connection):
        cluster.put_pool(policy)
        await _load_past(cluster.pools[policy.name], connection, now)
    for pool, path, quota in await load_quotas(connection):
        if pool in cluster.pools:
            cluster.put_quota(pool, path, quota)
    on_spending(cluster, spending_of(await load_accounts(connection, month_of(now), now)))
    for reservation in await load_reservations(connection, now):
        wishes.on_reserved(cluster, reservation)
    for row in await connection.execute(_WORKERS):
        cluster.put_worker(worker_of(row))
    known = await _load_trials(connection)
    stored = [stored_wish_of(row) for row in await connection.execute(_NEW_WISHES)]
    await _load_parts(cluster, connection, known, stored)
    runs = [run_of(row) for row in await connection.execute(_RUNS)]
    with loading(cluster):
        # Trials first: what a run counts for is counted for its trial.
        for trial, elastic in known:
            cluster.put_trial(trial)
            if elastic is not None:
                cluster.pools[cluster.pool_of(trial)].elastic.of[trial.id] = elastic
        for run in runs:
            cluster.put_run(run)
            if not run.is_ended:
                cluster.hold(run)
    cluster.ledger.load([holding_of(row) for row in await connection.execute(_HOLDINGS)])
    cluster.ledger.end_unknown(cluster.workers, now)
    for row in await connection.execute(_LENGTHS):
        cluster.lengths.add(PoolName(row.pool), ExperimentId(row.experiment), row.length_ms)
    paused = await connection.execute(_PAUSES)
    stops.remember(cluster, ((ExperimentId(row.experiment), Took(**row.took)) for row in paused))
    cluster.changes = Changes(pools=dict.fromkeys(cluster.pools))
    last_place = int((await connection.execute(_LAST_PLACE)).scalar_one())
    world = World(cluster, {one.wish.trial: one for one in stored}, last_place)
    for one in stored:
        world.last_place += 1
        wishes.on_wish(cluster, one.wish, world.last_place, now)
    for kept in await load_worker_wishes(connection):
        draining.on_drain(cluster, kept.worker, reclaim=kept.reclaim, undo=not kept.drain)
    return world


async def _load_past(pool: Pool, connection: AsyncConnection, now: datetime) -> None:
    history = pool.shares.history
    if history is not None:
        averages = await load_averages(connection, pool.policy.name, pool.policy.half_life, now)
        for path, average in averages:
            history.remember(path, average, milliseconds(now))


async def _load_trials(connection: AsyncConnection) -> list[tuple[Trial, Record | None]]:
    """With what is known of the elastic ones."""
    found = await connection.execute(_TRIALS)
    return [
        (
            trial_of(row, TrialSpec.model_validate(row.spec)),
            record_of(row.elastic) if row.elastic is not None and row.state != RequestState.CLOSED else None,
        )
        for row in found
    ]


async def _load_parts(
    cluster: Cluster,
    connection: AsyncConnection,
    known: list[tuple[Trial, Record | None]],
    stored: list[StoredWish],
) -> None:
    experiments: set[ExperimentId] = {trial.wish.experiment for trial, _ in known}
    experiments |= {one.wish.experiment for one in stored}
    for experiment, part in (await load_parts(connection, experiments)).items():
        cluster.put_part(experiment, part)
