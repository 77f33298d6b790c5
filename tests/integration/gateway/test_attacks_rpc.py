"""gRPC's connections attacked with frames by hand: what is cut off, lies about its length, or never ends harms nobody."""

import gzip
from collections.abc import AsyncIterator, Callable

import grpc.aio
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.server import FULL_NAME
from tests.integration.gateway.attacking import withstood
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.matrix import ask_rpc
from tests.support import frames
from tests.support.frames import CONTINUATION, DATA, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, frame
from tests.support.raw_sockets import MIB, connected, send_and_read
from tests.support.waiting import eventually

GET_ME = next(row for row in OPERATIONS if row.name == "GetMe")
PATH = f"/{FULL_NAME}/CreateModel"
GOODBYE = frame(frames.GOAWAY, payload=b"\0" * 8)
Attack = Callable[[str], bytes]


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    found = await start_gateway(settings("gateway"), tmp_path_factory.mktemp("attacked-rpc"))
    yield found
    await stop_gateway(found)


def sent(message: bytes, more: tuple[tuple[str, str], ...] = (), ends: bool = True) -> Attack:
    """One call with these bytes for its messages."""

    def make(token: str) -> bytes:
        pieces = [message[at : at + 16_000] for at in range(0, len(message), 16_000)] or [b""]
        data = [frame(DATA, 0, 1, piece) for piece in pieces]
        last = [frame(DATA, END_STREAM, 1)] if ends else []
        return frames.opening() + frames.call(1, PATH, token, more) + b"".join(data + last)

    return make


def reset_rapidly(token: str) -> bytes:
    """CVE-2023-44487: calls that are taken back before they are answered."""
    calls = (
        frames.call(stream, PATH, token) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
        for stream in range(1, 20_001, 2)
    )
    return frames.opening() + b"".join(calls)


def continued(token: str) -> bytes:
    """Headers that go on, and on (CVE-2024-27316)."""
    more = frame(CONTINUATION, 0, 1, b"\0\x01a\x7f\x80\x7d" + b"b" * 16_000)
    return frames.opening() + frame(HEADERS, 0, 1, frames.headers_of(PATH, token)) + more * 2_000


def repeated(piece: bytes, times: int) -> Attack:
    return lambda token: frames.opening() + piece * times


def bomb(token: str) -> bytes:
    """Half a gigabyte, unpacked."""
    packed = gzip.compress(b"\0" * (512 * MIB), 9)
    return sent(frames.message(packed, compressed=True), (("grpc-encoding", "gzip"),))(token)


ATTACKS: dict[str, Attack] = {
    "a message that is cut off": sent(frames.message(b"\x0a\x01x", declared_length=1000)),
    "a prefix that is cut off": sent(b"\0\0\0"),
    "no message": sent(b""),
    "two messages": sent(frames.message(b"\x0a\x01x") * 2),
    "a length of four gigabytes": sent(b"\0\xff\xff\xff\xff" + b"x" * MIB, ends=False),
    "a message over the limit": sent(frames.message(b"x" * (8 * MIB))),
    "compressed, it does not say how": sent(frames.message(b"x", compressed=True)),
    "compressed in no way there is": sent(frames.message(b"x", compressed=True), (("grpc-encoding", "zip"),)),
    "a bomb": bomb,
    "a head over the limit": sent(b"", tuple((f"x-{number}", "y" * 8_000) for number in range(40))),
    "calls that are taken back": reset_rapidly,
    "headers that go on": continued,
    "pings": repeated(frame(PING, payload=b"\0" * 8), 5_000),
    "settings": repeated(frame(SETTINGS), 50_000),
    "empty data": lambda token: sent(b"", ends=False)(token) + frame(DATA, 0, 1) * 50_000,
    "resets of nothing": repeated(frame(RST_STREAM, 0, 1, b"\0\0\0\x08"), 50_000),
    "a frame over the limit": repeated(frame(DATA, 0, 1, b"x" * 5 * MIB), 1),
    "unknown frames": repeated(frame(0xBE, 0xFF, 7, b"x" * 100), 20_000),
    "no HTTP/2": lambda token: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * MIB,
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_frames_harm_nobody(gateway: Gateway, name: str) -> None:
    attack = ATTACKS[name](gateway.admin_token)
    async with withstood(gateway):
        for _ in range(3):
            async with connected(gateway.grpc_address) as (reader, writer):
                await send_and_read(reader, writer, attack, GOODBYE, sends_eof=True)
        async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:

            async def answers() -> bool:
                """Calls that came into the crowd may be turned away; soon after it none is."""
                return await ask_rpc(channel, GET_ME, {}, gateway.admin_token) is grpc.StatusCode.OK

            await eventually(answers)
