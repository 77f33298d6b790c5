"""Bytes to a port as they are, and what a process holds of memory: for tests that attack."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.waiting import TIMEOUT_S

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
MIB = 1024 * 1024


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to `host:port`, which is gone afterwards, whatever the other end thinks of it."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def connect_send_and_read(address: str, *parts: bytes) -> bytes:
    """All that the other end says until it closes; what it takes no more of is not sent."""
    async with connected(address) as (reader, writer):
        return await send_and_read(reader, writer, *parts)


async def send_and_read(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *parts: bytes, sends_eof: bool = False
) -> bytes:
    """All that the other end says until it closes; with `sends_eof` it is told that nothing more is coming."""

    async def send() -> None:
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            if sends_eof:
                writer.write_eof()
        except ConnectionError:
            return

    sending = asyncio.create_task(send())
    answer = bytearray()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while piece := await reader.read(64 * 1024):
                answer += piece
    except ConnectionError:
        pass
    finally:
        sending.cancel()
    return bytes(answer)


def statuses(answer: bytes) -> list[int]:
    """Of all answers that were sent over a connection, whose bodies hold no such line."""
    return [int(found) for found in _STATUS.findall(answer)]


class Memory:
    """What a process holds, and has held at most since it was looked at."""

    def __init__(self, pid: int) -> None:
        self._process = Path(f"/proc/{pid}")
        (self._process / "clear_refs").write_text("5")
        self.before_mib = self._mib("VmRSS")

    @property
    def rise_mib(self) -> float:
        """The highest since then, above what it was."""
        return self._mib("VmHWM") - self.before_mib

    @property
    def kept_mib(self) -> float:
        return self._mib("VmRSS") - self.before_mib

    def _mib(self, name: str) -> float:
        found = re.search(rf"^{name}:\s+(\d+) kB", (self._process / "status").read_text(), re.MULTILINE)
        assert found is not None, "not on Linux"
        return int(found[1]) / 1024
