"""Composition root of the searcher: which part holds which, and the order in which they open and close."""

from services.searcher.deletion import SearcherDeletionOwner
from services.searcher.handlers import command_handlers, event_handlers
from services.searcher.queries import SearcherQueries
from services.searcher.reconcile import Loops
from services.searcher.runner.dispatcher import Dispatcher
from services.searcher.runner.replays import Replays
from services.searcher.runner.search_drivers import Drivers
from services.searcher.runner.searches import SearchCache
from services.searcher.settings import Settings
from shared.bus.data_deletion import DeletionLoop
from shared.bus.republish import republishing
from shared.infrastructure import Infrastructure
from shared.runtime.process import ServiceProcess

NAME = "searcher"


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Open everything that the searcher needs, then consume events and commands and answer queries."""
    own = settings.searcher
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    clock, database, units = infrastructure.clock, infrastructure.database, infrastructure.units
    dispatcher = Dispatcher(
        SearchCache(own.cached_searches, own.save_every), infrastructure.bus, containers=settings.containers
    )
    drivers = Drivers(database, units, dispatcher, clock)
    loops = Loops(units, dispatcher, drivers, clock, own)
    deleting = DeletionLoop(units, NAME, SearcherDeletionOwner())

    infrastructure.publish()
    await loops.read_prices()
    queries = SearcherQueries(database, Replays(database, clock), dispatcher, clock)
    await infrastructure.respond({**queries.answers(), **drivers.answers()})
    commands = {**command_handlers(dispatcher), **deleting.handlers(), **republishing(NAME)}
    infrastructure.consume("events", event_handlers(dispatcher))
    infrastructure.consume("commands", commands)
    process.start("announce", loops.announce)
    process.start("widen", loops.widen)
    process.start("budgets", loops.keep_budgets)
    process.start("settle", loops.settle)
    process.start("undriven", loops.end_undriven)
    process.start("deleting", deleting.run)
    process.mark_ready()
