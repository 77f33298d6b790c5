"""Delivery is proven: a real process is killed at each point between message and acknowledgement, and effects are counted."""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from shared.bus import consumer, relay, units
from shared.clock import SystemClock
from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, ExperimentId, new_id
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted
from tests.integration.bus.relaying import Service, effect_of, make_tables
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
Environment = Callable[[str], dict[str, str]]


class Process:
    """The small service as a child, started again whenever it dies, as a supervisor would."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.deaths = 0
        self.child: asyncio.subprocess.Process | None = None

    async def run(self, faults: str) -> None:
        while True:
            environment = {**os.environ, **self.environment, "MUSTER_FAULTS": faults, "PYTHONPATH": str(ROOT)}
            self.child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.integration.bus.relaying", cwd=ROOT, env=environment
            )
            try:
                await self.child.wait()
            except asyncio.CancelledError:
                self.child.terminate()
                await self.child.wait()
                raise
            self.deaths += 1
            faults = ""


@pytest.fixture(scope="module")
async def tables(postgres: TestDatabase) -> TestDatabase:
    for schema in ("gateway", "searcher"):
        await make_tables(postgres.urls[schema].owner, schema)
    return postgres


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


async def submit(service: Service, number: int) -> None:
    clock = SystemClock()
    for _ in range(number):
        async with service.units.tenant(DEFAULT_TENANT) as unit:
            unit.emit(
                SubmissionCommitted(
                    experiment_id=ExperimentId(new_id(clock)),
                    number=1,
                    name="a",
                    workspace="w",
                    project="p",
                    owner="o",
                    config={},
                    submitted_at=unit.now,
                )
            )


def counting_gateway(settings: Environment) -> Service:
    return Service(
        settings("gateway"), "gateway", "gateway", {ExperimentChanged: effect_of("gateway", emits=False)}
    )


KILLED_AT = (
    consumer.AFTER_INBOX,
    consumer.AFTER_HANDLERS,
    units.BEFORE_COMMIT,
    units.AFTER_COMMIT,
    relay.BEFORE_PUBLISH,
    relay.BEFORE_MARK,
    consumer.BEFORE_ACK,
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("point", KILLED_AT)
async def test_killed_anywhere_every_effect_happens_once(
    point: str, settings: Environment, tables: TestDatabase
) -> None:
    process = Process(settings("searcher"))
    async with running(counting_gateway(settings)) as gateway:
        before = await count(tables, "searcher"), await count(tables, "gateway")
        work = asyncio.create_task(process.run(f"{point}:2:kill"))
        try:
            await eventually(lambda: hasattr(gateway, "units"), timeout_s=10)

            async def arrived(number: int) -> bool:
                return await count(tables, "gateway", distinct=True) - before[1] >= number

            await submit(gateway, 1)
            await asyncio.sleep(2)
            for _ in range(4):
                await submit(gateway, 5)
                await asyncio.sleep(0.3)
            await eventually(lambda: arrived(21), timeout_s=60)
            await asyncio.sleep(0.5)
        finally:
            work.cancel()
            await asyncio.wait({work})
    assert process.deaths == 1, f"{point} was not passed twice"
    after = await count(tables, "searcher"), await count(tables, "gateway")
    assert (after[0] - before[0], after[1] - before[1]) == (21, 21)


@pytest.mark.timeout(120)
async def test_a_lost_stream_store_is_filled_again(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    """The JetStream store is deleted under load; what was acknowledged takes effect, once."""
    searcher = Service(
        settings("searcher"), "searcher", "searcher", {SubmissionCommitted: effect_of("searcher", emits=True)}
    )
    async with running(counting_gateway(settings)) as gateway, running(searcher):
        await eventually(lambda: hasattr(gateway, "units"), timeout_s=10)
        before = await count(tables, "gateway")
        await submit(gateway, 30)
        servers.nats.stop()
        shutil.rmtree(servers.nats.store)
        await submit(gateway, 10)
        servers.restart(servers.nats)
        await submit(gateway, 10)

        async def all_there() -> bool:
            return await count(tables, "gateway", distinct=True) - before >= 50

        await eventually(all_there, timeout_s=60)
        await asyncio.sleep(1)
        assert await count(tables, "gateway") - before == 50


async def test_a_poison_message_ends_as_a_dead_letter_and_holds_nobody_up(
    settings: Environment, tables: TestDatabase
) -> None:
    poison: set[ExperimentId] = set()
    plain = effect_of("searcher", emits=False)

    async def handle(unit: units.Unit, batch: list[object]) -> None:
        if any(delivery.message.experiment_id in poison for delivery in batch):  # type: ignore[attr-defined]
            raise Rejected("poison", "this one cannot be handled")
        await plain(unit, batch)

    searcher = Service(settings("searcher"), "searcher", "searcher", {SubmissionCommitted: handle})
    sender = Service(settings("gateway"), "gateway", "gateway", {})
    async with running(searcher), running(sender):
        await eventually(lambda: sender.ready, timeout_s=10)
        before = await count(tables, "searcher")
        async with sender.units.tenant(DEFAULT_TENANT) as unit:
            for index in range(10):
                experiment = ExperimentId(new_id(SystemClock()))
                if index == 3:
                    poison.add(experiment)
                unit.emit(
                    SubmissionCommitted(
                        experiment_id=experiment,
                        number=1,
                        name="a",
                        workspace="w",
                        project="p",
                        owner="o",
                        config={},
                        submitted_at=unit.now,
                    )
                )

        async def healthy_done() -> bool:
            return await count(tables, "searcher") - before == 9

        await eventually(healthy_done, timeout_s=20)
