"""A small service for delivery tests: for each submission it stores an effect and emits an experiment. Run as a process, so that it can be killed."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from shared.bus import Bus, Consumer, Delivery, Relay, Unit, Units
from shared.clock import SystemClock
from shared.database.engine import Database, deletion_tables, delivery_tables
from shared.ids import ExperimentId
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted
from shared.settings import PostgresSettings

POISON = "TEST_POISON"
"""Names the experiment whose message kills the process that handles it."""


class Statements:
    """Stands for Alembic's `op`: collects what a migration executes."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def execute(self, statement: str) -> None:
        self.all.append(statement)


async def make_tables(owner_url: str, schema: str) -> None:
    """Inbox and outbox, and a table of effects that counts every time something was done."""
    statements = Statements()
    delivery_tables(statements, schema)
    deletion_tables(statements, schema)
    statements.execute(f"CREATE TABLE {schema}.effects (id uuid NOT NULL, tenant uuid NOT NULL)")
    statements.execute(f"GRANT SELECT, INSERT ON {schema}.effects TO {schema}_tenant, {schema}_system")
    engine = create_async_engine(owner_url.replace("postgresql://", "postgresql+asyncpg://", 1))
    async with engine.begin() as connection:
        for statement in statements.all:
            await connection.execute(text(statement))
    await engine.dispose()


def effect_of(schema: str, *, emits: bool) -> Any:
    """A handler that stores one effect a message, and passes it on."""

    async def handle(unit: Unit, batch: list[Delivery[Any]]) -> None:
        for delivery in batch:
            if str(delivery.message.experiment_id) == os.environ.get(POISON):
                os.kill(os.getpid(), signal.SIGKILL)
            statement = text(f"INSERT INTO {schema}.effects VALUES (:id, :tenant)")
            parameters = {"id": delivery.message.experiment_id, "tenant": unit.tenant}
            await unit.connection.execute(statement, parameters)
            if emits:
                unit.emit(changed(delivery.message.experiment_id, unit), cause=delivery)

    return handle


def changed(experiment: UUID, unit: Unit) -> ExperimentChanged:
    return ExperimentChanged(
        experiment_id=ExperimentId(experiment), version=1, number=1, state="active", started_at=unit.now
    )


class Service:
    """The parts of a service that consumes with one handler, as `service.py` of each puts them together."""

    def __init__(self, environment: dict[str, str], service: str, schema: str, handlers: Any) -> None:
        self.environment = environment
        self.service = service
        self.schema = schema
        self.handlers = handlers
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        clock = SystemClock()
        settings = PostgresSettings(
            **{
                f"{role}_url": self.environment[f"MUSTER_POSTGRES__{role.upper()}_URL"]
                for role in ("tenant", "system")
            }
        )
        credentials = Path(self.environment["MUSTER_NATS__CREDENTIALS"])
        async with (
            Database(settings, self.service) as database,
            await Bus.connect(self.environment["MUSTER_NATS__URL"], self.service, credentials) as bus,
        ):
            relay = Relay(bus, database, self.schema, clock)
            self.units = Units(database, relay, self.schema, clock)
            running = asyncio.create_task(relay.run())
            try:
                if self.handlers:
                    await Consumer(bus, self.units, self.service, self.handlers, self.schema).run(
                        self.stopping
                    )
                else:
                    self.ready = True
                    await self.stopping.wait()
            finally:
                await relay.flush()
                running.cancel()

    ready = False


async def main() -> None:
    service = Service(
        dict(os.environ), "searcher", "searcher", {SubmissionCommitted: effect_of("searcher", emits=True)}
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, service.stopping.set)
    await service.run()


if __name__ == "__main__":
    asyncio.run(main())
