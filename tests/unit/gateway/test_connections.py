"""REST's connections: whose head is here is answered, however late the gateway comes to it."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from services.gateway.rest.connections import Connections, answering

HEAD_S = 0.1
HOST = "127.0.0.1"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        with answering(request):
            return web.Response(text="here")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    server = await Connections(10, HEAD_S, web.Response).serve(runner, HOST, 0, None)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await runner.cleanup()


def hold_up() -> None:
    """The loop has other things to do: longer in each round than a head may take."""
    time.sleep(2 * HEAD_S)


async def test_who_has_sent_a_whole_head_is_answered_by_a_loop_that_is_late(port: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    loop = asyncio.get_running_loop()
    writer.write(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    for number in range(20):
        loop.call_later(number * 1e-6, hold_up)
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    writer.close()


async def test_who_sends_no_more_of_a_head_is_left(port: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"GET / HTTP/1.1\r\nHost:")
    assert await asyncio.wait_for(reader.read(), 5.0) == b""
    writer.close()
