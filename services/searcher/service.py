"""The searcher's composition: who holds what, and in which order things open and close."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from services.searcher.deleting import Estate
from services.searcher.desk import Desk
from services.searcher.drivers import Drivers
from services.searcher.handlers import CommandHandlers, EventHandlers
from services.searcher.loops import Loops
from services.searcher.queries import Queries
from services.searcher.replaying import Replays
from services.searcher.searches import Searches
from services.searcher.settings import Settings
from shared.bus import Bus, Consumer, Relay, Responder, Units
from shared.bus.health import check_delivery, health_answers
from shared.bus.republish import republishing
from shared.clock import SystemClock
from shared.db import Database
from shared.deleting import Deleting
from shared.process import Process
from shared.upgrading import migrate

NAME = "searcher"


async def compose(settings: Settings, process: Process) -> None:
    """Open everything that the searcher needs, then take in events, commands and questions."""
    own, clock = settings.searcher, SystemClock()
    await process.reach("postgres", lambda: migrate(settings.postgres, NAME))
    database = await process.enter(Database(settings.postgres, NAME))
    bus = await process.enter(
        await process.reach("nats", lambda: Bus.connect(settings.nats.url, NAME, settings.nats.credentials))
    )
    relay = Relay(bus, database, NAME, clock)
    units = Units(database, relay, NAME, clock)
    desk = Desk(Searches(own.cached_searches, own.save_every), bus)
    drivers = Drivers(database, units, desk, clock)
    loops = Loops(units, desk, drivers, clock, own)
    deleting = Deleting(units, NAME, Estate())

    process.start("relay", relay.run, relay.flush)
    check_delivery(process, bus, database, relay)
    await loops.read_prices()
    queries = Queries(database, Replays(database, clock), desk, clock)
    answers = {**queries.answers(), **drivers.answers(), **health_answers(process)}
    await process.enter(Responder(bus, NAME, answers))
    commands = {**CommandHandlers(desk).handlers(), **deleting.handlers(), **republishing(NAME)}
    for name, consumer in (
        ("events", Consumer(bus, units, NAME, EventHandlers(desk).handlers())),
        ("commands", Consumer(bus, units, NAME, commands)),
    ):
        stopping = asyncio.Event()
        process.start(name, _running(consumer, stopping), _setting(stopping))
    process.start("announce", loops.announce)
    process.start("widen", loops.widen)
    process.start("budgets", loops.keep_budgets)
    process.start("settle", loops.settle)
    process.start("undriven", loops.end_undriven)
    process.start("deleting", deleting.run)
    process.mark_ready()


def _running(consumer: Consumer, stopping: asyncio.Event) -> Callable[[], Coroutine[object, object, None]]:
    return lambda: consumer.run(stopping)


def _setting(stopping: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def stop() -> None:
        stopping.set()

    return stop
