"""What the delivery tests share: a service as a child that is started again, one in this process, and what is counted."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from deploy.keys.permissions import ADMIN
from shared.bus import Bus
from shared.clock import SystemClock
from shared.ids import DEFAULT_TENANT, ExperimentId, new_id
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted
from tests.integration.bus.relaying import Service, effect_of
from tests.integration.servers import Servers, TestDatabase
from tests.support import warm
from tests.support.warm import Warm

ROOT = Path(__file__).parents[3]
Environment = Callable[[str], dict[str, str]]


class Process:
    """The small service as a child, started again whenever it dies, as a supervisor would."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.deaths = 0
        self.child: Warm | None = None

    async def run(self, faults: str) -> None:
        while True:
            environment = {**os.environ, **self.environment, "MUSTER_FAULTS": faults}
            self.child = await warm.start("tests.integration.bus.relaying", environment)
            try:
                await self.child.wait()
            except asyncio.CancelledError:
                self.child.terminate()
                await self.child.wait()
                raise
            self.deaths += 1
            faults = ""


@contextlib.asynccontextmanager
async def running(service: Service) -> AsyncIterator[Service]:
    task = asyncio.create_task(service.run())
    try:
        yield service
    finally:
        service.stopping.set()
        await task


async def count(database: TestDatabase, schema: str, distinct: bool = False) -> int:
    engine = create_async_engine(
        database.urls[schema].system.replace("postgresql://", "postgresql+asyncpg://", 1)
    )
    what = "DISTINCT id" if distinct else "id"
    async with engine.connect() as connection:
        found = await connection.scalar(text(f"SELECT count({what}) FROM {schema}.effects"))
    await engine.dispose()
    return int(found or 0)


def submission(now: datetime, experiment: ExperimentId | None = None) -> SubmissionCommitted:
    return SubmissionCommitted(
        experiment_id=experiment or ExperimentId(new_id(SystemClock())),
        number=1,
        name="a",
        workspace="w",
        project="p",
        owner="o",
        config={},
        submitted_at=now,
    )


async def submit(service: Service, number: int) -> None:
    for _ in range(number):
        async with service.units.tenant(DEFAULT_TENANT) as unit:
            unit.emit(submission(unit.now))


async def dead_letters(servers: Servers, service: str) -> list[RawStreamMsg]:
    """What lies in the dead-letter stream of a service, as its operator sees it."""
    async with await Bus.connect(servers.nats.url, ADMIN, servers.keys.credentials(ADMIN)) as bus:
        try:
            last = (await bus.jetstream.stream_info("DLQ")).state.last_seq
        except NotFoundError:
            return []
        found = [await bus.jetstream.get_msg("DLQ", seq=number) for number in range(1, last + 1)]
    return [message for message in found if message.subject == f"dlq.v1.{service}"]


def counting_gateway(settings: Environment) -> Service:
    return Service(
        settings("gateway"), "gateway", "gateway", {ExperimentChanged: effect_of("gateway", emits=False)}
    )
