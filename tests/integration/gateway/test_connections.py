"""REST's connections: slow headers are bounded, and so is the number of connections."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web

from services.gateway.transports.rest.connections import ConnectionLimits, listen
from tests.support.raw_sockets import connect_send_and_read, connected, send_and_read, statuses
from tests.support.waiting import eventually

KEEP_ALIVE_S = 0.1
HOST = "127.0.0.1"
HEAD = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
LAST = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
COUNT = 3


@asynccontextmanager
async def serving(keep_alive_s: float) -> AsyncIterator[int]:
    """The port of a server that answers."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="here")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    limits = ConnectionLimits(COUNT, keep_alive_s)
    server = await listen(runner, (HOST, 0), None, limits, lambda: web.Response(status=400))
    yield server.sockets[0].getsockname()[1]
    server.close()
    await runner.cleanup()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(KEEP_ALIVE_S) as port:
        yield port


def hold_up() -> None:
    """The loop has other things to do: longer in each round than headers may take."""
    time.sleep(2 * KEEP_ALIVE_S)


async def test_complete_headers_are_answered_by_a_loop_that_is_late(port: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    loop = asyncio.get_running_loop()
    writer.write(HEAD)
    for number in range(20):
        loop.call_later(number * 1e-6, hold_up)
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost:", HEAD + b"GET / HTTP/1.1\r\nHost:"])
async def test_incomplete_headers_close_the_connection_however_slowly_they_go_on(
    port: int, begun: bytes
) -> None:
    async with connected(f"{HOST}:{port}") as (reader, writer):

        async def go_on() -> None:
            while begun:
                await asyncio.sleep(KEEP_ALIVE_S / 10)
                writer.write(b"x")

        going_on = asyncio.create_task(go_on())
        assert statuses(await send_and_read(reader, writer, begun)) == [200] * begun.startswith(HEAD)
        going_on.cancel()


async def test_a_connection_too_many_is_answered_503_and_there_is_room_when_another_closes() -> None:
    async with serving(60.0) as port, AsyncExitStack() as kept:
        address = f"{HOST}:{port}"
        for _ in range(COUNT):
            await kept.enter_async_context(connected(address))
        refused = await connect_send_and_read(address)
        assert statuses(refused) == [503] and b"Retry-After: " in refused
        await kept.aclose()

        async def is_answered() -> bool:
            return statuses(await connect_send_and_read(address, LAST)) == [200]

        await eventually(is_answered)
