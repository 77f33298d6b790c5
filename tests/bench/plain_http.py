"""As much of HTTP/1.1 as a sender of many requests needs: connections that stay open, each with one request at a time."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Self, cast
from urllib.parse import urlsplit


class Connections:
    """At most so many to one server, opened as they are needed; who finds none free waits, in order."""

    def __init__(self, url: str, most: int) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._common = f"Host: {parts.netloc}\r\n"
        self._left = most
        self._free: deque[_Connection] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._free:
            connection.close()

    async def ask(self, verb: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
        """Sends a request with a JSON body, or none, and returns the status of the answer once all of it is here. Raises OSError where none comes."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if body:
            lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        request = f"{verb} {path} HTTP/1.1\r\n{self._common}{lines}\r\n".encode() + body
        connection = await self._take()
        try:
            return await connection.ask(request)
        finally:
            self._give_back(connection)

    async def _take(self) -> "_Connection":
        while True:
            while self._free:
                if (connection := self._free.popleft()).is_usable:
                    return connection
                self._left += 1
            if self._left > 0:
                self._left -= 1
                try:
                    loop = asyncio.get_running_loop()
                    _, opened = await loop.create_connection(_Connection, self._host, self._port)
                except BaseException:
                    self._left += 1
                    raise
                return opened
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place

    def _give_back(self, connection: "_Connection") -> None:
        if connection.is_usable:
            self._free.append(connection)
        else:
            connection.close()
            self._left += 1
        while self._waiting:
            if not (place := self._waiting.popleft()).done():
                place.set_result(None)
                return


class _Connection(asyncio.Protocol):
    """One connection. It is of no use any more once the server closed it, or a request on it was given up."""

    def __init__(self) -> None:
        self.is_usable = True
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[str] | None = None
        self._came = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def close(self) -> None:
        self.is_usable = False
        if self._transport is not None:
            self._transport.close()

    async def ask(self, request: bytes) -> str:
        if self._transport is None or not self.is_usable:
            raise ConnectionResetError("the server has closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.close()
            raise

    def data_received(self, data: bytes) -> None:
        self._came += data
        head, end, body = self._came.partition(b"\r\n\r\n")
        if not end or self._answer is None or self._answer.done():
            return
        lines = head.decode("latin-1").lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        if len(body) < int(fields.get("content-length", 0)):
            return
        self._came = b""
        self.is_usable = fields.get("connection") != "close"
        self._answer.set_result(lines[0].split()[1])

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_usable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server has closed the connection"))
