"""REST's connections: slow headers are bounded, and so is the number of connections."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from services.gateway.rest.connections import ConnectionLimits, listen

KEEP_ALIVE_S = 0.1
HOST = "127.0.0.1"
HEAD = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
COUNT = 3


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="here")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    limits = ConnectionLimits(COUNT, KEEP_ALIVE_S)
    server = await listen(runner, (HOST, 0), None, limits, lambda: web.Response(status=400))
    yield server.sockets[0].getsockname()[1]
    server.close()
    await runner.cleanup()


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
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(begun)

    async def go_on() -> None:
        while begun:
            await asyncio.sleep(KEEP_ALIVE_S / 10)
            writer.write(b"x")

    going_on = asyncio.create_task(go_on())
    await asyncio.wait_for(reader.read(), 5.0)
    going_on.cancel()
    writer.close()


async def test_a_connection_too_many_is_answered_503_and_there_is_room_when_another_closes(port: int) -> None:
    kept = [await asyncio.open_connection(HOST, port) for _ in range(COUNT)]
    reader, _ = await asyncio.open_connection(HOST, port)
    refused = await asyncio.wait_for(reader.read(), 5.0)
    assert refused.startswith(b"HTTP/1.1 503 ") and b"Retry-After: " in refused
    kept[0][1].close()
    await asyncio.wait_for(kept[0][1].wait_closed(), 5.0)
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(HEAD)
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    for _, one in (*kept, (reader, writer)):
        one.close()
