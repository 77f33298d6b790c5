"""Slow connections, and streams in masses: they are bounded, and others are answered."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import aiohttp
import grpc
import grpc.aio
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.server import FULL_NAME
from tests.integration.gateway.attacking import withstood
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.test_fuzz_grpc import RAW, reason_of
from tests.support.raw_sockets import MIB, connected, send_and_read, statuses
from tests.support.waiting import TIMEOUT_S, eventually

MOST, STREAMS = 64, 12
HOST = b"Host: 127.0.0.1\r\n"
WATCH = next(row for row in OPERATIONS if row.name == "WatchEvents")


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """One that allows few connections and streams; headers may take two seconds, and a body one."""
    found = await start_gateway(
        settings("gateway"),
        tmp_path_factory.mktemp("flooded"),
        MUSTER_GATEWAY__MAX_CONNECTIONS=str(MOST),
        MUSTER_GATEWAY__KEEP_ALIVE_S="2",
        MUSTER_GATEWAY__MAX_STREAMS_PER_TENANT=str(STREAMS),
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


@pytest.mark.parametrize("name", SLOW)
async def test_a_connection_that_never_ends_its_request_is_closed(gateway: Gateway, name: str) -> None:
    async with connected(address(gateway)) as (reader, writer):
        found = statuses(await send_and_read(reader, writer, SLOW[name]))
    assert found in ([], [408])


async def test_connections_beyond_the_limit_are_refused_until_others_are_closed(gateway: Gateway) -> None:
    async with AsyncExitStack() as idle:
        for _ in range(MOST):
            await idle.enter_async_context(connected(address(gateway)))
        async with connected(address(gateway)) as (reader, writer):
            assert statuses(found := await send_and_read(reader, writer)) == [503], found
    async with gateway.client() as client:

        async def is_answered() -> bool:
            return (await client.get("/v1/me")).status_code == 200

        await eventually(is_answered)


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
        mine = call(b"", metadata=(("authorization", f"Bearer {gateway.admin_token}"),), timeout=TIMEOUT_S)
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
        assert b"101" in await asyncio.wait_for(reader.readline(), TIMEOUT_S)
        goodbye = b"\x88\x82\0\0\0\0\x03\xe8"
        await send_and_read(reader, writer, FRAMES[name], goodbye, sends_eof=True)
