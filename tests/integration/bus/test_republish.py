"""Every entity is said again: to who was rebuilt, and without effect on who knows it; what is no entity stays unsaid."""

from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from deploy.keys.permissions import ADMIN
from deploy.republish.requests import send_request
from shared.bus import Bus, Delivery, Unit
from shared.bus.envelope import without_old
from shared.bus.outbox import Outbox
from shared.bus.republish import republishing
from shared.clock import SystemClock
from shared.database.engine import Database
from shared.ids import DEFAULT_TENANT, ExperimentId, new_id
from shared.messages.experiments import ExperimentChanged, OperationRefused
from shared.settings import PostgresSettings
from tests.integration.bus.parts import Environment, running
from tests.integration.bus.relaying import Service
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually

VERSIONS = 3


class Projection:
    """The newest version of each experiment, as it is kept by a consumer; and a count that news alone may raise."""

    def __init__(self) -> None:
        self.known: dict[UUID, int] = {}
        self.changes = 0
        self.counted = 0

    async def handle(self, unit: Unit, batch: list[Delivery[Any]]) -> None:
        self.counted += len(without_old(batch))
        for message in (delivery.message for delivery in batch):
            if message.version > self.known.get(message.experiment_id, 0):
                self.known[message.experiment_id] = message.version
                self.changes += 1


class Around:
    """An owner of experiments with its outbox, and how its stream and its reader stand."""

    def __init__(self, servers: Servers, tables: TestDatabase, settings: Environment) -> None:
        self.servers, self.tables = servers, tables
        self.owner = Service(settings("searcher"), "searcher", "searcher", republishing("searcher"))

    async def sql(self, schema: str, statement: str) -> list[Any]:
        url = self.tables.urls[schema].system.replace("postgresql://", "postgresql+asyncpg://", 1)
        engine = create_async_engine(url, poolclass=NullPool)
        async with engine.begin() as connection:
            found = await connection.execute(text(statement))
            rows = list(found) if found.returns_rows else []
        await engine.dispose()
        return rows

    async def emit(self, *experiments: UUID) -> None:
        """Each experiment's versions, and refusals, which are no entities."""
        await eventually(lambda: hasattr(self.owner, "units"))
        for version in range(1, VERSIONS + 1):
            async with self.owner.units.tenant(DEFAULT_TENANT) as unit:
                for experiment in experiments:
                    unit.emit(changed(experiment, version, unit))
                unit.emit(
                    OperationRefused(operation_id=new_id(SystemClock()), code="no", message="it was refused")
                )
        await eventually(self.all_published)

    async def all_published(self) -> bool:
        return not await self.sql("searcher", "SELECT 1 FROM searcher.outbox WHERE published_at IS NULL")

    async def grow_old(self, days: int) -> None:
        """Days pass, and the old rows go."""
        await self.sql("searcher", f"UPDATE searcher.outbox SET created_at = now() - interval '{days} days'")
        urls = self.tables.urls["searcher"]
        settings = PostgresSettings.model_validate(
            {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
        )
        async with Database(settings, "searcher") as database:
            await Outbox(database, "searcher").drop_old()

    async def republish(self) -> None:
        """As the operator does; returns when everything was published and its reader has taken it."""
        async with await Bus.connect(
            self.servers.nats.url, ADMIN, self.servers.keys.credentials(ADMIN)
        ) as bus:
            await eventually(self.all_published)
            before = (await bus.stream_state("EVT")).last_sequence
            rows = len(await self.sql("searcher", "SELECT 1 FROM searcher.outbox WHERE entity IS NOT NULL"))
            await send_request(bus.jetstream, "searcher")

            async def taken() -> bool:
                reader = await bus.jetstream.consumer_info("EVT", "gateway")
                sent = (await bus.stream_state("EVT")).last_sequence - before
                return sent >= rows and not reader.num_pending and not reader.num_ack_pending

            await eventually(taken)


def changed(experiment: UUID, version: int, unit: Unit) -> ExperimentChanged:
    return ExperimentChanged(
        experiment_id=ExperimentId(experiment), version=version, number=1, state="active", started_at=unit.now
    )


def reader(settings: Environment, projection: Projection) -> Service:
    # The gateway's consumer receives refusals too: without a handler each would be delivered again and again.
    handlers = {ExperimentChanged: projection.handle, OperationRefused: _pass_over}
    return Service(settings("gateway"), "gateway", "gateway", handlers)


async def _pass_over(unit: Unit, batch: list[Delivery[Any]]) -> None:
    """Take messages without an effect."""


async def test_the_newest_event_of_each_entity_outlives_the_rest(
    servers: Servers, tables: TestDatabase, settings: Environment
) -> None:
    around = Around(servers, tables, settings)
    experiments = [new_id(SystemClock()) for _ in range(3)]
    async with running(around.owner):
        await around.emit(*experiments)
        await around.grow_old(days=8)
    left = await around.sql("searcher", "SELECT entity, payload FROM searcher.outbox")
    kept = {ExperimentChanged.from_bytes(bytes(row.payload)).experiment_id: row for row in left}
    assert len(left) == len(experiments) and set(kept) == set(experiments)
    assert all(ExperimentChanged.from_bytes(bytes(row.payload)).version == VERSIONS for row in left)


async def test_a_reader_that_was_rebuilt_learns_all_and_one_that_knows_learns_nothing(
    servers: Servers, tables: TestDatabase, settings: Environment
) -> None:
    around, present, rebuilt = Around(servers, tables, settings), Projection(), Projection()
    experiments = [new_id(SystemClock()) for _ in range(3)]
    async with running(around.owner):
        async with running(reader(settings, present)):
            await around.emit(*experiments)
            await eventually(lambda: all(present.known.get(one) == VERSIONS for one in experiments))
            known, changes, counted = dict(present.known), present.changes, present.counted
            await around.grow_old(days=8)
            await around.republish()
            assert (present.known, present.changes, present.counted) == (known, changes, counted)
            # Its inbox forgets after 14 days; from then on versions alone tell.
            await around.sql("gateway", "DELETE FROM gateway.inbox")
            await around.grow_old(days=15)
            await around.republish()
            assert (present.known, present.changes, present.counted) == (known, changes, counted)
        await around.sql("gateway", "DELETE FROM gateway.inbox")
        async with running(reader(settings, rebuilt)):
            await around.republish()
            await eventually(lambda: rebuilt.known == known)
    assert rebuilt.counted == 0, "what is older than the inbox remembers is no news"
