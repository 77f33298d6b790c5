"""The searcher's composition: who holds what, and in which order things open and close."""

from services.searcher.deleting import Estate
from services.searcher.desk import Desk
from services.searcher.drivers import Drivers
from services.searcher.handlers import CommandHandlers, EventHandlers
from services.searcher.loops import Loops
from services.searcher.queries import Queries
from services.searcher.replaying import Replays
from services.searcher.searches import Searches
from services.searcher.settings import Settings
from shared.bus.republish import republishing
from shared.deleting import Deleting
from shared.infrastructure import Infrastructure
from shared.process import Process

NAME = "searcher"


async def compose(settings: Settings, process: Process) -> None:
    """Open everything that the searcher needs, then take in events, commands and questions."""
    own = settings.searcher
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    clock, database, units = infrastructure.clock, infrastructure.database, infrastructure.units
    desk = Desk(Searches(own.cached_searches, own.save_every), infrastructure.bus)
    drivers = Drivers(database, units, desk, clock)
    loops = Loops(units, desk, drivers, clock, own)
    deleting = Deleting(units, NAME, Estate())

    infrastructure.publish()
    await loops.read_prices()
    queries = Queries(database, Replays(database, clock), desk, clock)
    await infrastructure.respond({**queries.answers(), **drivers.answers()})
    commands = {**CommandHandlers(desk).handlers(), **deleting.handlers(), **republishing(NAME)}
    infrastructure.consume("events", EventHandlers(desk).handlers())
    infrastructure.consume("commands", commands)
    process.start("announce", loops.announce)
    process.start("widen", loops.widen)
    process.start("budgets", loops.keep_budgets)
    process.start("settle", loops.settle)
    process.start("undriven", loops.end_undriven)
    process.start("deleting", deleting.run)
    process.mark_ready()
