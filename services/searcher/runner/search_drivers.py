"""Serve the driver programs of searches, and end searches whose driver program stays away."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.experiment.entities import trial_id
from services.searcher.core.experiment.states import EXPERIMENT, ExperimentState
from services.searcher.core.journal.driver_events import DriverEvent, events_of
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.driver_operations import apply_operations
from services.searcher.runner.dispatcher import Dispatcher
from services.searcher.store import entities, search_drivers
from services.searcher.store.entities import Locked
from services.searcher.store.search_drivers import Driver, Undriven
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import NotFound, Rejected
from shared.ids import ExperimentId
from shared.messages.custom_searches import (
    DrivenSearch,
    GetDrivenSearch,
    GetSearchEvents,
    SearchEvent,
    SearchEventPage,
    SearchOperation,
    SubmitSearchOperations,
)

MOST_EVENTS = 500
_READ = 500
"""Most journal entries read at once."""
AWAY = "no driver program contacted the search for {:g} s (searcher.driver_timeout)"

Dated = tuple[DriverEvent, datetime]


@dataclass(frozen=True, slots=True)
class Drivers:
    """Answers driver programs; runs in every replica."""

    database: Database
    units: Units
    dispatcher: Dispatcher
    clock: Clock

    def answers(self) -> Mapping[Question, Answer]:
        return {
            GetSearchEvents: self.on_events,
            GetDrivenSearch: self.on_search,
            SubmitSearchOperations: self.on_operations,
        }

    async def on_events(self, ask: RequestContext, query: GetSearchEvents) -> SearchEventPage:
        """Return the events after `after`, and record the contact if the query names a driver."""
        now, experiment = self.clock.now(), query.experiment_id
        async with self.database.tenant(ask.tenant) as connection:
            state, position = await _state(connection, experiment)
            if query.driver is not None:
                await search_drivers.save_driver(
                    connection, ask.tenant, experiment, Driver(query.driver, now)
                )
            driver = await search_drivers.load_driver(connection, experiment)
            after = driver.acknowledged if query.after is None else query.after
            found, scanned = await _read(connection, experiment, after, min(query.limit, MOST_EVENTS))
        return SearchEventPage(
            events=tuple(_event(each, at, experiment) for each, at in found),
            scanned=scanned,
            acknowledged=driver.acknowledged,
            is_over=state in EXPERIMENT.final and scanned >= position,
        )

    async def on_search(self, ask: RequestContext, query: GetDrivenSearch) -> DrivenSearch:
        """Return the state of the search's driver."""
        async with self.database.tenant(ask.tenant) as connection:
            return await _look(connection, query.experiment_id)

    async def on_operations(self, ask: RequestContext, query: SubmitSearchOperations) -> DrivenSearch:
        """Apply a driver program's operations, all or none, and record what it acknowledges."""
        async with self.units.tenant(ask.tenant) as unit:
            experiment = await entities.lock_experiment(unit.connection, query.experiment_id)
            if experiment is None:
                raise NotFound(f"experiment {query.experiment_id}")
            if query.acknowledge is not None and query.acknowledge > experiment.position:
                raise Rejected(
                    "unknown_event", f"event {query.acknowledge} does not exist yet", "acknowledge"
                )
            if query.operations:
                await self._apply(unit, experiment.id, [_operation(each) for each in query.operations])
            driver = Driver(query.driver, unit.now, query.acknowledge or 0)
            await search_drivers.save_driver(unit.connection, ask.tenant, experiment.id, driver)
            return await _look(unit.connection, experiment.id)

    async def end(self, undriven: Undriven) -> None:
        """Shut down a search whose driver program stayed away too long. Trials that wait for a decision end."""
        async with self.units.tenant(undriven.tenant) as unit:
            await entities.lock_experiment(unit.connection, undriven.experiment)
            if undriven in await search_drivers.load_undriven(unit.connection, unit.now):
                reason = AWAY.format(undriven.timeout_s)
                await self._apply(
                    unit, undriven.experiment, [Operation(OperationKind.SHUTDOWN, reason=reason)]
                )

    async def _apply(self, unit: Unit, experiment_id: ExperimentId, operations: Sequence[Operation]) -> None:
        experiment = await entities.lock_experiment(unit.connection, experiment_id)
        if experiment is None:
            return
        search = (await self.dispatcher.searches.check_out(unit, experiment)).search
        named = search.named_by(operations)
        trials = await entities.lock_trials(unit.connection, experiment_id, named) if named else []
        await self.dispatcher.decide_one(unit, Locked(experiment, trials), apply_operations, operations)


async def _state(connection: AsyncConnection, experiment: ExperimentId) -> tuple[ExperimentState, int]:
    found = await entities.load_state(connection, experiment)
    if found is None:
        raise NotFound(f"experiment {experiment}")
    return found


async def _look(connection: AsyncConnection, experiment: ExperimentId) -> DrivenSearch:
    _, position = await _state(connection, experiment)
    driver = await search_drivers.load_driver(connection, experiment)
    waiting, _ = await _read(connection, experiment, driver.acknowledged, MOST_EVENTS)
    return DrivenSearch(
        driver=driver.name,
        seen_at=driver.seen_at,
        acknowledged=driver.acknowledged,
        position=position,
        waiting=len(waiting),
        waiting_since=waiting[0][1] if waiting else None,
    )


async def _read(
    connection: AsyncConnection, experiment: ExperimentId, after: int, limit: int
) -> tuple[list[Dated], int]:
    """Return at most `limit` events after `after`, and the position read up to.

    Events with one number are never split, except that one entry alone may exceed the limit.
    """
    found: list[Dated] = []
    chunk = min(2 * limit, _READ)
    while len(found) < limit:
        entries = await entities.load_journal(connection, experiment, after, chunk)
        for entry, at in entries:
            events = [(event, at) for event in events_of(entry)]
            if found and len(found) + len(events) > limit:
                return found, after
            found += events
            after = entry.position
        if len(entries) < chunk:
            break
    return found, after


def _event(event: DriverEvent, at: datetime, experiment: ExperimentId) -> SearchEvent:
    trial = None if event.trial is None else trial_id(experiment, event.trial)
    return SearchEvent(at=at, trial_id=trial, **asdict(event))


def _operation(sent: SearchOperation) -> Operation:
    return Operation(**{**sent.model_dump(), "verb": OperationKind(sent.verb)})
