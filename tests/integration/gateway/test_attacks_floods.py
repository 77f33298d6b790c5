"""Many connections, slow ones, and streams in masses: whoever opens them takes nothing from others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import aiohttp
import grpc
import grpc.aio
import pytest

from services.gateway.operations.table import OPERATIONS
from services.gateway.rpc.server import FULL_NAME
from tests.integration.gateway.attacking import withstood
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.test_fuzz_grpc import RAW, reason_of
from tests.support.raw import MIB, connected, heard, statuses
from tests.support.waiting import PATIENCE_S, eventually

MOST, STREAMS = 64, 12
HOST = b"Host: 127.0.0.1\r\n"
WATCH = next(row for row in OPERATIONS if row.name == "WatchEvents")


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """One with few places; a head or a body may take a second."""
    found = await start_gateway(
        settings("gateway"),
        tmp_path_factory.mktemp("flooded"),
        MUSTER_GATEWAY__MAX_CONNECTIONS=str(MOST),
        MUSTER_GATEWAY__STREAMS_OF_TENANT=str(STREAMS),
    )
    yield found
    await stop_gateway(found)


@pytest.fixture(scope="module")
async def neighbour(gateway: Gateway) -> str:
    """The token of another tenant."""
    async with gateway.client() as admin:
        made = await admin.post("/v1/tenants", json={"name": "neighbour"})
    assert made.status_code == 201, made.text
    return str(made.json()["secret"])


def address(gateway: Gateway) -> str:
    return gateway.url.removeprefix("http://")


SLOW = {
    "nothing": b"",
    "half a word": b"GE",
    "half a head": b"GET /v1/health HTTP/1.1\r\n" + HOST + b"X: ",
    "half a body": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n{",
    "half a chunk": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
}


@pytest.mark.parametrize("name", ["nothing", "half a head", "half a body"])
async def test_many_slow_connections_keep_nobody_out(gateway: Gateway, name: str) -> None:
    """Five times as many as there are places, each opened anew as soon as it is closed, each sending a sign now and then."""

    async def crawl() -> None:
        while True:
            async with connected(address(gateway)) as (reader, writer):
                try:
                    writer.write(SLOW[name])
                    while not writer.is_closing():
                        await asyncio.sleep(0.2)
                        writer.write(b"x" if SLOW[name] else b"")
                        await writer.drain()
                        if reader.at_eof():
                            break
                except ConnectionError:
                    await asyncio.sleep(0.1)

    async with withstood(gateway):
        crawling = [asyncio.create_task(crawl()) for _ in range(5 * MOST)]
        await asyncio.sleep(1.5)
        for task in crawling:
            task.cancel()
        await asyncio.gather(*crawling, return_exceptions=True)


@pytest.mark.parametrize("name", ["half a word", "half a head", "half a body", "half a chunk"])
async def test_who_never_ends_a_request_is_closed(gateway: Gateway, name: str) -> None:
    async with connected(address(gateway)) as (reader, writer):
        found = statuses(await heard(reader, writer, SLOW[name]))
    assert found in ([], [408])


async def test_a_connection_that_waits_gives_way_and_one_that_is_answered_does_not(gateway: Gateway) -> None:
    bearer = f"Authorization: Bearer {gateway.admin_token}\r\n".encode()
    async with connected(address(gateway)) as (reader, writer), AsyncExitStack() as idle:
        writer.write(b"GET /v1/events HTTP/1.1\r\n" + HOST + bearer + b"\r\n")
        await asyncio.wait_for(reader.readuntil(b"id: "), PATIENCE_S)
        first = await idle.enter_async_context(connected(address(gateway)))
        for _ in range(MOST):
            await idle.enter_async_context(connected(address(gateway)))
        assert await asyncio.wait_for(first[0].read(), PATIENCE_S) == b"", "the oldest is closed"
        assert not reader.at_eof(), "a stream stays"


async def open_streams(
    session: aiohttp.ClientSession, token: str, number: int, opened: AsyncExitStack
) -> list[int]:
    """WebSockets of one token, which stay open; what each handshake was answered."""
    headers, found = {"Authorization": f"Bearer {token}"}, []
    for _ in range(number):
        try:
            await opened.enter_async_context(session.ws_connect("/v1/events", headers=headers))
            found.append(101)
        except aiohttp.WSServerHandshakeError as refused:
            found.append(refused.status)
    return found


async def test_one_tenants_streams_leave_room_for_anothers(gateway: Gateway, neighbour: str) -> None:
    async with (
        aiohttp.ClientSession(gateway.url) as session,
        grpc.aio.insecure_channel(gateway.grpc_address) as channel,
        AsyncExitStack() as opened,
    ):
        found = await open_streams(session, gateway.admin_token, STREAMS + 5, opened)
        assert found == [101] * STREAMS + [429] * 5
        call = channel.unary_stream(f"/{FULL_NAME}/{WATCH.name}", **RAW)
        mine = call(b"", metadata=(("authorization", f"Bearer {gateway.admin_token}"),), timeout=PATIENCE_S)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await mine.read()
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(refused.value) == "rate_limited"
        assert await open_streams(session, neighbour, STREAMS, opened) == [101] * STREAMS
        await opened.aclose()

        async def has_room() -> bool:
            return await open_streams(session, gateway.admin_token, 1, opened) == [101]

        await eventually(has_room)


FRAMES = {
    "a large message": b"\x81\xff" + (8 * MIB).to_bytes(8, "big") + b"\0\0\0\0" + b"x" * (8 * MIB),
    "a length of no size": b"\x81\xff" + b"\xff" * 8 + b"\0\0\0\0" + b"x" * MIB,
    "a message in parts without end": b"\x01\x80\0\0\0\0" + b"\x00\xfe\x01\x00\0\0\0\0" + b"\x00\xfe\x01\x00\0\0\0\0" * 4_000,
    "many pings": b"\x89\x80\0\0\0\0" * 200_000,
    "a large ping": b"\x89\xfe\xff\xff\0\0\0\0" + b"x" * 65_535,
    "no mask": b"\x81\x05hello" * 1_000,
    "an unknown kind": b"\x8f\x80\0\0\0\0" * 1_000,
    "reserved bits": b"\xf1\x80\0\0\0\0" * 1_000,
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
async def test_frames_of_a_socket_harm_nobody(gateway: Gateway, name: str) -> None:
    shake = (
        b"GET /v1/events HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + f"Authorization: Bearer {gateway.admin_token}\r\n\r\n".encode()
    )
    async with withstood(gateway), connected(address(gateway)) as (reader, writer):
        writer.write(shake)
        assert b"101" in await asyncio.wait_for(reader.readline(), PATIENCE_S)
        goodbye = b"\x88\x82\0\0\0\0\x03\xe8"
        await heard(reader, writer, FRAMES[name], goodbye, ends=True)
