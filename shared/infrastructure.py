"""What every service with a schema of its own is built on: Postgres, NATS, the relay, units of work, consumers, answers and a leader's lease.

A service's `service.py` calls `connect` first and composes its own parts on what it returns. `shared.runtime.process` starts and ends all of it.
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
from shared.database.upgrading import migrate
from shared.ids import new_id
from shared.runtime.process import ServiceProcess
from shared.settings import NatsSettings, PostgresSettings


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """The connections of one service, named after its process; schema, durable consumers and answers carry the same name."""

    process: ServiceProcess
    clock: Clock
    database: Database
    bus: Bus
    relay: Relay
    units: Units

    @classmethod
    async def connect(cls, process: ServiceProcess, postgres: PostgresSettings, nats: NatsSettings) -> Self:
        """Wait for both servers, and bring the schema up to date."""
        name, clock = process.name, SystemClock()
        await process.reach("postgres", lambda: migrate(postgres, name))
        database = await process.enter(Database(postgres, name))
        bus = await process.enter(
            await process.reach("nats", lambda: Bus.connect(nats.url, name, nats.credentials))
        )
        relay = Relay(bus, database, name, clock)
        return cls(process, clock, database, bus, relay, Units(database, relay, name, clock))

    def publish(self) -> None:
        """Publish what is committed from now on, and let `/ready` depend on bus, database and outbox. Call it before what emits is started."""
        self.process.start("relay", self.relay.run, self.relay.flush)
        add_delivery_checks(self.process, self.bus, self.database, self.relay)

    def consumer(self, handlers: Handlers, units: Units | None = None) -> Consumer:
        """Return the service's durable consumer of the stream that these handlers' messages are on."""
        return Consumer(self.bus, units or self.units, self.process.name, handlers)

    def consume(self, task: str, handlers: Handlers, units: Units | None = None) -> None:
        """Feed the handlers until the process ends; the batch in hand is finished first."""
        self.process.start_until_stopped(task, self.consumer(handlers, units).run)

    async def respond(self, answers: Mapping[Question, Answer]) -> None:
        """Answer these questions, and the one about the health of this process, until every task has ended."""
        every = {**answers, **health_answers(self.process)}
        await self.process.enter(Responder(self.bus, self.process.name, every))

    def lease(self, name: str) -> Lease:
        """Return a lease of the service, held by this process."""
        holder = f"{socket.gethostname()}:{os.getpid()}:{new_id(self.clock)}"
        return Lease(self.database, self.process.name, name, holder, self.clock)

    def lead(self, lease: Lease, term: Callable[[int, asyncio.Event], Awaitable[None]]) -> None:
        """Run `term(epoch, ended)` whenever this process holds the lease; `/ready` depends on a live leader, whichever it is."""
        self.process.start_until_stopped("leader", lambda stopping: lease.lead(term, stopping))
        check_leader(self.process, lease)
