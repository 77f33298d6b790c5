"""Composition root. Everything that decides or fetches lives inside a leader's term; a stand-by only waits for the lease."""

import asyncio
import gc
import os
import socket
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta

import structlog

from services.scheduler.core.pool import PoolPolicy
from services.scheduler.cycle import LEASE, Cycle, Term
from services.scheduler.deleting import Estate
from services.scheduler.dispatch import Dispatch
from services.scheduler.handlers import Handlers
from services.scheduler.joining import Joining
from services.scheduler.metrics import pools_shown
from services.scheduler.pulse import Pulse
from services.scheduler.queries import Queries
from services.scheduler.queries.explaining import Explaining
from services.scheduler.reconcile import prune, reconcile
from services.scheduler.rulings.budgets import Budgets
from services.scheduler.settings import PoolSection, Settings
from services.scheduler.store.load import load_world
from services.scheduler.store.policies import save_pool
from services.scheduler.store.save import BLOCK, next_token_block
from shared.bus import Bus, Consumer, Relay, Responder, Units
from shared.bus.health import check_delivery, check_leader, health_answers
from shared.bus.republish import republishing
from shared.clock import Clock, SystemClock
from shared.db import Database
from shared.deleting import Deleting
from shared.errors import Conflict, Transient
from shared.ids import PoolName, new_id
from shared.leases import Lease
from shared.messages.allocations import ObservedSet
from shared.nats_jwt import WorkerIssuer
from shared.process import Process
from shared.upgrading import migrate

NAME = "scheduler"
GC_THRESHOLD = 100_000
"""Allocations between garbage collections: Python's 700 cost a quarter of a leader's time while it places trials on a large site."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    """What outlives a term."""

    database: Database
    bus: Bus
    units: Units
    lease: Lease
    clock: Clock
    issuer: WorkerIssuer
    nats_url: str
    keep_usage: timedelta


async def compose(settings: Settings, process: Process) -> None:
    """Connects, brings the schema up to date, then stands by for the lease."""
    gc.set_threshold(GC_THRESHOLD)
    clock = SystemClock()
    await process.reach("postgres", lambda: migrate(settings.postgres, NAME))
    database = await process.enter(Database(settings.postgres, NAME))
    bus = await process.enter(
        await process.reach("nats", lambda: Bus.connect(settings.nats.url, NAME, settings.nats.credentials))
    )
    relay = Relay(bus, database, NAME, clock)
    units = Units(database, relay, NAME, clock)
    holder = f"{socket.gethostname()}:{os.getpid()}:{new_id(clock)}"
    lease = Lease(database, NAME, LEASE, holder, clock)
    issuer = WorkerIssuer.from_json(settings.scheduler.worker_issuer_file.read_text())
    nats_url = settings.scheduler.worker_nats_url or settings.nats.url
    keep_usage = timedelta(days=settings.scheduler.keep_usage_days)
    parts = Parts(database, bus, units, lease, clock, issuer, nats_url, keep_usage)
    async with database.system() as connection:
        await save_pool(connection, default_policy(settings.scheduler.default_pool))
    stopping = asyncio.Event()

    async def stop() -> None:
        stopping.set()

    async def lead() -> None:
        await lease.lead(lambda epoch, ended: serve_term(parts, epoch, ended), stopping)

    process.start("relay", relay.run, relay.flush)
    process.start("leader", lead, stop)
    check_delivery(process, bus, database, relay)
    check_leader(process, lease)
    # Of stand-bys too: a platform without a leader is what the question is about.
    await process.enter(Responder(bus, NAME, health_answers(process)))
    process.mark_ready()


async def serve_term(parts: Parts, epoch: int, ended: asyncio.Event) -> None:
    """Leads until the lease is lost, the process stops, or a turn could not be saved; then memory is given up."""
    try:
        term = await _begin(parts, epoch)
        await _lead(parts, term, ended)
    except (Transient, Conflict) as error:
        _log.warning("a term ended early", epoch=epoch, error=str(error))


def default_policy(settings: PoolSection) -> PoolPolicy:
    """The pool `default` as the settings give it."""
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
    )


async def _begin(parts: Parts, epoch: int) -> Term:
    """Reads the world as it stands under our epoch."""
    async with parts.database.system() as connection:
        await parts.lease.guard(connection)
        token = await next_token_block(connection)
        world = await load_world(connection, parts.clock.now())
    return Term(
        epoch=epoch,
        cluster=world.cluster,
        next_token=token,
        last_token=token + BLOCK - 1,
        last_place=world.last_place,
        carried=world.carried,
    )


async def _lead(parts: Parts, term: Term, ended: asyncio.Event) -> None:
    over = asyncio.Event()
    dispatch = Dispatch(parts.bus, term, parts.clock, lambda: parts.lease.held and not over.is_set())
    cycle = Cycle(term, parts.units, parts.lease, parts.clock, dispatch.send)
    pulse = Pulse(parts.bus, cycle, parts.clock, dispatch)
    dispatch.hear = pulse.hear
    joining = Joining(cycle, parts.database, parts.units, parts.issuer, parts.nats_url, parts.clock)
    explaining = Explaining(cycle, parts.database, parts.clock)
    budgets = Budgets(cycle, parts.database, parts.units, parts.clock)
    queries = Queries(cycle, pulse, joining, explaining, budgets, parts.database, parts.clock)
    handlers = Handlers(cycle)
    events = Consumer(parts.bus, parts.units, NAME, handlers.events())
    deleting = Deleting(parts.units, NAME, Estate(cycle))
    taken = {**handlers.commands(), **deleting.handlers(), **republishing(NAME)}
    commands = Consumer(parts.bus, parts.units, NAME, taken)
    # Everything that was owed to workers before is sent again: their sets carry a new epoch.
    dispatch.send([worker.id for worker in term.cluster.workers.values() if worker.liveness == "ready"])
    # Heartbeats are not shared out: a frozen leader would swallow some of what keeps its successor's workers alive.
    beats = Responder(parts.bus, NAME, {ObservedSet: pulse.answer}, group=f"{NAME}.{term.epoch}")
    async with Responder(parts.bus, NAME, queries.answers()), beats:
        jobs = [
            cycle.run(over),
            pulse.run(over),
            events.run(over),
            commands.run(over),
            reconcile(cycle, parts.database, over),
            budgets.run(over),
            prune(parts.database, parts.clock, parts.keep_usage, over),
            deleting.run_until(over),
            _end_with(ended, over),
        ]
        try:
            with pools_shown(term.cluster.pools):
                await _until_first_ends(jobs, over)
        finally:
            over.set()
            await dispatch.close()


async def _end_with(ended: asyncio.Event, over: asyncio.Event) -> None:
    await ended.wait()
    over.set()


async def _until_first_ends(jobs: list[Coroutine[object, object, None]], over: asyncio.Event) -> None:
    """Runs all; when one ends or fails the others are told to end, finish what is in hand, and the failure is raised."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.set()
        _, slow = await asyncio.wait(tasks, timeout=3.0)
        for task in slow:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
