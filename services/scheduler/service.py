"""Composition root. All decisions and subscriptions live inside a leader's term; a standby only waits for the
lease."""

import asyncio
import gc
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from services.scheduler.admin.budgets import BudgetMonitor
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.cycle import LEASE, Cycle, LeaderTerm
from services.scheduler.deletion import DeletionOwner
from services.scheduler.handlers import Handlers
from services.scheduler.metrics import pool_metrics
from services.scheduler.queries import Queries
from services.scheduler.queries.explaining import Explainer
from services.scheduler.reconcile import prune, reconcile
from services.scheduler.settings import PoolSection, Settings
from services.scheduler.store.load import load_state
from services.scheduler.store.policies import save_pool
from services.scheduler.store.save import BLOCK, next_token_block
from services.scheduler.workers.desired_state import DesiredStateSender
from services.scheduler.workers.heartbeats import Heartbeats
from services.scheduler.workers.joining import Joining
from shared.auth.nats_jwt import WorkerIssuer
from shared.auth.signatures import MessageSigner
from shared.bus import Responder
from shared.bus.data_deletion import DeletionLoop
from shared.bus.republish import republishing
from shared.database.leases import Lease, run_term
from shared.errors import Conflict, Transient
from shared.ids import PoolName
from shared.infrastructure import Infrastructure
from shared.messages.allocations import ObservedSet
from shared.runtime.process import ServiceProcess

NAME = "scheduler"
GC_THRESHOLD = 100_000
"""Allocations between garbage collections. With Python's default of 700, collections took a quarter of a
leader's time while it placed trials on a large site."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LeaderDependencies:
    """Dependencies that outlive a term."""

    infrastructure: Infrastructure
    lease: Lease
    issuer: WorkerIssuer
    nats_url: str
    keep_usage: timedelta


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Connect, migrate the schema, then stand by for the lease."""
    gc.set_threshold(GC_THRESHOLD)
    own = settings.scheduler
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    lease = infrastructure.lease(LEASE)
    dependencies = LeaderDependencies(
        infrastructure,
        lease,
        WorkerIssuer.from_json(own.worker_issuer_file.read_text()),
        nats_url=own.worker_nats_url or settings.nats.url,
        keep_usage=timedelta(days=own.keep_usage_days),
    )
    async with infrastructure.database.system() as connection:
        await save_pool(connection, default_policy(own.default_pool))
    infrastructure.publish()
    infrastructure.lead(lease, partial(serve_term, dependencies))
    # Standbys answer health queries too: a missing leader must be visible.
    await infrastructure.respond({})
    process.mark_ready()


async def serve_term(dependencies: LeaderDependencies, epoch: int, ended: asyncio.Event) -> None:
    """Lead until the lease is lost, the process stops, or a cycle could not be saved. The term's memory is then
    discarded."""
    try:
        term = await _begin(dependencies, epoch)
        await _lead(dependencies, term, ended)
    except (Transient, Conflict) as error:
        _log.warning("the leader's term ended early", epoch=epoch, error=str(error))


def default_policy(settings: PoolSection) -> PoolPolicy:
    """Return the policy of the pool `default` from the settings."""
    return PoolPolicy(
        name=PoolName("default"),
        kind=None if settings.kind == "auto" else settings.kind,
        preemption=settings.preemption,
        exclusive=settings.exclusive,
        auxiliary_per_worker=settings.auxiliary_per_worker,
        default_priority=settings.default_priority,
        order=settings.order,
        ageing=timedelta(seconds=settings.ageing_s) if settings.ageing_s else None,
        half_life=timedelta(seconds=settings.half_life_s),
        min_run=timedelta(seconds=settings.min_run_s),
        max_preemptions=settings.max_preemptions,
        quantum=timedelta(seconds=settings.quantum_s) if settings.quantum_s else None,
        elastic=settings.elastic,
        defragment=settings.defragment,
        topology=settings.topology,
        placement=settings.placement,
        trusted=settings.trusted,
    )


async def _begin(dependencies: LeaderDependencies, epoch: int) -> LeaderTerm:
    """Load the stored state under our epoch."""
    base = dependencies.infrastructure
    async with base.database.system() as connection:
        await dependencies.lease.guard(connection)
        token = await next_token_block(connection)
        world = await load_state(connection, base.clock.now())
    return LeaderTerm(
        epoch=epoch,
        since=base.clock.now(),
        cluster=world.cluster,
        next_token=token,
        last_token=token + BLOCK - 1,
        last_submission_order=world.last_submission_order,
        stored_requests=world.stored_requests,
    )


async def _lead(dependencies: LeaderDependencies, term: LeaderTerm, ended: asyncio.Event) -> None:
    over = asyncio.Event()
    base = dependencies.infrastructure
    bus, database, units, clock = base.bus, base.database, base.units, base.clock
    dispatch = DesiredStateSender(
        bus,
        term,
        clock,
        lambda: dependencies.lease.held and not over.is_set(),
        MessageSigner(dependencies.issuer.seed),
    )
    cycle = Cycle(term, units, dependencies.lease, clock, dispatch.send)
    heartbeats = Heartbeats(bus, cycle, clock, dispatch)
    dispatch.on_observed_set = heartbeats.on_observed_set
    joining = Joining(cycle, database, units, dependencies.issuer, dependencies.nats_url, clock)
    explaining = Explainer(cycle, database, clock)
    budgets = BudgetMonitor(cycle, database, units, clock)
    queries = Queries(cycle, heartbeats, joining, explaining, budgets, database, clock)
    handlers = Handlers(cycle)
    events = base.consumer(handlers.events())
    deleting = DeletionLoop(units, NAME, DeletionOwner(cycle))
    commands = base.consumer({**handlers.commands(), **deleting.handlers(), **republishing(NAME)})
    # Send every desired set again, because sets carry the new epoch.
    dispatch.send([worker.id for worker in term.cluster.workers.values() if worker.liveness == "ready"])
    # One responder group per epoch: in a shared group a frozen leader would take heartbeats from its successor.
    beats = Responder(bus, NAME, {ObservedSet: heartbeats.answer}, group=f"{NAME}.{term.epoch}")
    async with Responder(bus, NAME, queries.answers()), beats:
        jobs = [
            cycle.run(over),
            heartbeats.run(over),
            events.run(over),
            commands.run(over),
            reconcile(cycle, database, over),
            budgets.run(over),
            prune(database, clock, dependencies.keep_usage, over),
            deleting.run_until(over),
        ]
        try:
            with pool_metrics(term.cluster.pools):
                await run_term(jobs, ended, over)
        finally:
            over.set()
            await dispatch.close()
