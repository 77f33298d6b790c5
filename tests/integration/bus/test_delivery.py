"""Delivery is proven: a real process is killed at each point between message and acknowledgement, and effects are counted."""

import asyncio
import shutil

import pytest

from shared.bus import consumer, relay, units
from shared.messages.experiments import SubmissionCommitted
from tests.integration.bus.parts import (
    Environment,
    Process,
    count,
    counting_gateway,
    running,
    submit,
)
from tests.integration.bus.relaying import Service, effect_of
from tests.integration.servers import Servers, TestDatabase
from tests.support.drill_share import every
from tests.support.waiting import eventually

KILLED_AT = (
    consumer.AFTER_INBOX,
    consumer.AFTER_HANDLERS,
    units.BEFORE_COMMIT,
    units.AFTER_COMMIT,
    relay.BEFORE_PUBLISH,
    relay.BEFORE_MARK,
    consumer.BEFORE_ACK,
)


@pytest.mark.parametrize("point", every(2, KILLED_AT))
async def test_killed_anywhere_every_effect_happens_once(
    point: str, settings: Environment, tables: TestDatabase
) -> None:
    process = Process(settings("searcher"))
    async with running(counting_gateway(settings)) as gateway:
        before = await count(tables, "searcher"), await count(tables, "gateway")
        work = asyncio.create_task(process.run(f"{point}:2:kill"))
        try:
            await eventually(lambda: hasattr(gateway, "units"))

            async def arrived(number: int) -> bool:
                return await count(tables, "gateway", distinct=True) - before[1] >= number

            await submit(gateway, 1)
            await eventually(lambda: arrived(1))
            await asyncio.sleep(0.5)
            for _ in range(4):
                await submit(gateway, 5)
                await asyncio.sleep(0.3)
            await eventually(lambda: process.deaths == 1)
            await eventually(lambda: arrived(21))
            await asyncio.sleep(0.5)
        finally:
            work.cancel()
            await asyncio.wait({work})
    assert process.deaths == 1
    after = await count(tables, "searcher"), await count(tables, "gateway")
    assert (after[0] - before[0], after[1] - before[1]) == (21, 21)


async def test_a_lost_stream_store_is_filled_again(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    """The JetStream store is deleted under load; what was acknowledged takes effect, once."""
    searcher = Service(
        settings("searcher"), "searcher", "searcher", {SubmissionCommitted: effect_of("searcher", emits=True)}
    )
    async with running(counting_gateway(settings)) as gateway, running(searcher):
        await eventually(lambda: hasattr(gateway, "units"))
        before = await count(tables, "gateway")
        await submit(gateway, 30)
        servers.nats.stop()
        shutil.rmtree(servers.nats.store)
        await submit(gateway, 10)
        servers.restart(servers.nats)
        await submit(gateway, 10)

        async def all_there() -> bool:
            return await count(tables, "gateway", distinct=True) - before >= 50

        await eventually(all_there)
        await asyncio.sleep(1)
        assert await count(tables, "gateway") - before == 50
