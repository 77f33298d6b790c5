"""Common infrastructure of services with a schema: Postgres, NATS, relay, units of work, consumers, responders and leader lease.

A service's `service.py` calls `connect` first and builds its components on the result. `shared.runtime.process` starts and stops them.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

from shared.bus.connection import Bus
from shared.bus.consumer import Consumer, Handlers
from shared.bus.health import add_delivery_checks, check_leader, health_answers
from shared.bus.relay import Relay
from shared.bus.responder import Answer, Question, Responder
from shared.bus.units import Units
from shared.clock import Clock, SystemClock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.database.upgrading import check_schema
from shared.ids import new_id
from shared.runtime.process import ServiceProcess
from shared.settings import NatsSettings, PostgresSettings


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """Connections of one service. Its schema, durable consumers and responders have the same name as its process."""

    process: ServiceProcess
    clock: Clock
    database: Database
    bus: Bus
    relay: Relay
    units: Units

    @classmethod
    async def connect(cls, process: ServiceProcess, postgres: PostgresSettings, nats: NatsSettings) -> Self:
        """Wait for both servers and for the migrated schema."""
        name, clock = process.name, SystemClock()
        await process.reach("postgres", lambda: check_schema(postgres, name))
        database = await process.enter(Database(postgres, name))
        bus = await process.enter(
            await process.reach("nats", lambda: Bus.connect(nats.url, name, nats.credentials))
        )
        relay = Relay(bus, database, name, clock)
        return cls(process, clock, database, bus, relay, Units(database, relay, name, clock))

    def publish(self) -> None:
        """Start the relay, and make `/ready` depend on bus, database and outbox. Call it before starting anything that emits messages."""
        self.process.start("relay", self.relay.run, self.relay.flush)
        add_delivery_checks(self.process, self.bus, self.database, self.relay)

    def consumer(self, handlers: Handlers, units: Units | None = None) -> Consumer:
        """Return the service's durable consumer of the stream with these handlers' messages."""
        return Consumer(self.bus, units or self.units, self.process.name, handlers)

    def consume(self, task: str, handlers: Handlers, units: Units | None = None) -> None:
        """Feed the handlers until the process ends; the current batch is finished first."""
        self.process.start_until_stopped(task, self.consumer(handlers, units).run)

    async def respond(self, answers: Mapping[Question, Answer]) -> None:
        """Answer these questions, and health queries, until all tasks have ended."""
        every = {**answers, **health_answers(self.process)}
        await self.process.enter(Responder(self.bus, self.process.name, every))

    def lease(self, name: str, life_s: float = 3.0) -> Lease:
        """Return a lease of the service with this process as holder."""
        holder = f"{socket.gethostname()}:{os.getpid()}:{new_id(self.clock)}"
        return Lease(self.database, self.process.name, name, holder, self.clock, life_s)

    def lead(self, lease: Lease, term: Callable[[int, asyncio.Event], Awaitable[None]]) -> None:
        """Run `term(epoch, ended)` while this process holds the lease. `/ready` requires a live leader, in any process."""
        self.process.start_until_stopped("leader", lambda stopping: lease.lead(term, stopping))
        check_leader(self.process, lease)
