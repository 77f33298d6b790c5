"""Servers go away and come back under load, handlers are slow, one row cannot be published: nothing is lost, doubled or buried."""

import asyncio
from collections import Counter
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from structlog.typing import EventDict

from shared.bus import Delivery, Unit
from shared.errors import MusterError
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import SubmissionCommitted
from shared.messages.runs import RunEnded
from tests.integration.bus.parts import (
    Environment,
    count,
    dead_letters,
    running,
    submission,
    submit,
)
from tests.integration.bus.relaying import Service, effect_of
from tests.integration.servers import Servers, TestDatabase
from tests.support.log_capture import captured_events
from tests.support.waiting import TIMEOUT_S, eventually


def make_searcher(settings: Environment, handle: Any = None) -> Service:
    handle = handle or effect_of("searcher", emits=False)
    return Service(settings("searcher"), "searcher", "searcher", {SubmissionCommitted: handle})


def make_sender(settings: Environment) -> Service:
    return Service(settings("gateway"), "gateway", "gateway", {})


async def as_owner(database: TestDatabase, schema: str, statement: str) -> None:
    url = database.urls[schema].owner.replace("postgresql://", "postgresql+asyncpg://", 1)
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.begin() as connection:
        await connection.execute(text(statement))
    await engine.dispose()


async def all_there(tables: TestDatabase, number: int) -> None:
    async def claim() -> bool:
        return await count(tables, "searcher", distinct=True) >= number

    await eventually(claim)


def told_once(told: list[EventDict]) -> bool:
    """Whether each outage was told at its begin and at its end, and nothing of it between."""
    began = [(line["of"], line.get("consumer")) for line in told if line["event"] == "an outage began"]
    ended = [(line["of"], line.get("consumer")) for line in told if line["event"] == "an outage ended"]
    assert began and max(Counter(began).values()) <= 2, "one for each of the two services"
    assert sum(line["log_level"] == "warning" for line in told) == len(began)
    return sorted(began, key=str) == sorted(ended, key=str)


async def test_a_slow_handler_doubles_nothing(settings: Environment, tables: TestDatabase) -> None:
    """While it takes longer than the server waits for an acknowledgement, what stands behind it arrives again."""
    plain = effect_of("searcher", emits=False)
    begun = asyncio.Event()

    async def handle(unit: Unit, batch: list[Delivery[Any]]) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.sleep(7)
        await plain(unit, batch)

    before = await count(tables, "searcher")
    async with running(make_searcher(settings, handle)), running(sender := make_sender(settings)):
        await eventually(lambda: sender.ready)
        await submit(sender, 1)
        await eventually(begun.is_set)
        await submit(sender, 10)
        await all_there(tables, before + 11)
        await asyncio.sleep(1)
    assert await count(tables, "searcher") - before == 11


async def test_messages_wait_for_a_postgres_that_is_away_for_long(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    before = await count(tables, "searcher"), len(await dead_letters(servers, "searcher"))
    async with running(sender := make_sender(settings)):
        await eventually(lambda: sender.ready)
        await submit(sender, 20)
        await asyncio.sleep(1)
        servers.postgres.stop()
        with captured_events() as told:
            async with running(make_searcher(settings)):
                await asyncio.sleep(15)
                servers.restart(servers.postgres)
                await all_there(tables, before[0] + 20)
                await eventually(lambda: told_once(told))
    assert await count(tables, "searcher") - before[0] == 20
    assert len(await dead_letters(servers, "searcher")) == before[1]


async def test_both_servers_restarted_under_load_lose_and_double_nothing(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    before = await count(tables, "searcher"), len(await dead_letters(servers, "searcher"))
    committed = 0

    async def load(sender: Service, over: asyncio.Event) -> None:
        nonlocal committed
        while not over.is_set():
            try:
                await submit(sender, 1)
                committed += 1
            except MusterError:
                await asyncio.sleep(0.1)

    async with running(make_searcher(settings)), running(sender := make_sender(settings)):
        await eventually(lambda: sender.ready)
        over = asyncio.Event()
        loading = asyncio.create_task(load(sender, over))
        for server in (servers.nats, servers.postgres, servers.nats):
            await asyncio.sleep(1)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(servers.restart, server)
        await asyncio.sleep(1)
        over.set()
        await loading
        await all_there(tables, before[0] + committed)
        await asyncio.sleep(1)
    done = await count(tables, "searcher", distinct=True), await count(tables, "searcher")
    assert done[0] == done[1]
    # A commit whose answer was lost with the server counts as one that was not acknowledged.
    assert committed <= done[0] - before[0] <= committed + 1
    assert len(await dead_letters(servers, "searcher")) == before[1]


async def test_the_end_waits_for_no_nats_that_is_away(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    searcher = make_searcher(settings)
    task = asyncio.create_task(searcher.run())
    await eventually(lambda: hasattr(searcher, "units"))
    await asyncio.sleep(2)
    servers.nats.stop()
    await asyncio.sleep(8)
    searcher.stopping.set()
    try:
        await asyncio.wait_for(task, TIMEOUT_S)
    finally:
        servers.restart(servers.nats)


async def test_a_row_that_the_bus_never_takes_holds_up_no_other(
    settings: Environment, tables: TestDatabase
) -> None:
    before = await count(tables, "searcher")
    async with running(make_searcher(settings)), running(sender := make_sender(settings)):
        await eventually(lambda: sender.ready)
        await submit(sender, 5)
        await as_owner(tables, "gateway", "ALTER TABLE gateway.outbox NO FORCE ROW LEVEL SECURITY")
        await as_owner(
            tables,
            "gateway",
            "INSERT INTO gateway.outbox (id, tenant, subject, headers, payload, created_at)"
            f" VALUES (gen_random_uuid(), '{DEFAULT_TENANT}', 'evt.v1.x.submission.committed', '{{}}',"
            " decode(repeat('00', 1100000), 'hex'), now() - interval '1 hour')",
        )
        await as_owner(
            tables,
            "gateway",
            "INSERT INTO gateway.outbox (id, tenant, subject, headers, payload, created_at)"
            " SELECT gen_random_uuid(), tenant, subject,"
            " jsonb_set(headers::jsonb, '{Nats-Msg-Id}', to_jsonb(gen_random_uuid()))::text, payload,"
            " now() - interval '1 hour' FROM gateway.outbox WHERE length(payload) < 1000 LIMIT 5",
        )
        await all_there_again(tables, before + 10)
        await as_owner(tables, "gateway", "DELETE FROM gateway.outbox WHERE length(payload) > 1000000")


async def all_there_again(tables: TestDatabase, number: int) -> None:
    async def claim() -> bool:
        return await count(tables, "searcher") >= number

    await eventually(claim)


async def test_a_relay_that_met_an_unforeseen_error_goes_on(
    settings: Environment, tables: TestDatabase
) -> None:
    before = await count(tables, "searcher", distinct=True)
    async with running(make_searcher(settings)), running(sender := make_sender(settings)):
        await eventually(lambda: sender.ready)
        await as_owner(tables, "gateway", "ALTER TABLE gateway.outbox RENAME TO away")
        await asyncio.sleep(2.5)
        await as_owner(tables, "gateway", "ALTER TABLE gateway.away RENAME TO outbox")
        await submit(sender, 3)
        await all_there(tables, before + 3)


async def test_a_type_that_only_a_newer_replica_knows_is_left_to_it(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    plain = effect_of("searcher", emits=False)
    older = Service(settings("searcher"), "searcher", "searcher", {RunEnded: plain})
    newer = Service(
        settings("searcher"), "searcher", "searcher", {RunEnded: plain, SubmissionCommitted: plain}
    )
    distinct = await count(tables, "searcher", distinct=True)
    before = await count(tables, "searcher"), len(await dead_letters(servers, "searcher"))
    async with running(older), running(sender := make_sender(settings)):
        await asyncio.sleep(1)
        async with running(newer):
            await asyncio.sleep(1)
            for _ in range(8):
                async with sender.units.tenant(DEFAULT_TENANT) as unit:
                    unit.emit(submission(unit.now))
                await asyncio.sleep(0.1)
            await all_there(tables, distinct + 8)
    assert await count(tables, "searcher") - before[0] == 8
    assert len(await dead_letters(servers, "searcher")) == before[1]
