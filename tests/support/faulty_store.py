"""A door before an S3 server that answers wrongly on demand, as stores do: what stands behind it is real.

Requests go through byte by byte, their signatures are for the door's own address.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

SLOW_DOWN = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
)
_HOP = {"connection", "transfer-encoding", "keep-alive", "date", "server"}

Ask = Callable[[], Awaitable[tuple[int, dict[str, str], bytes]]]
"""Has the server carry the request out: status, headers and body of its answer."""
Fault = Callable[[web.Request, Ask], Awaitable[web.StreamResponse]]
"""What becomes of a request."""


async def lose_reply(request: web.Request, ask: Ask) -> web.StreamResponse:
    """The request is carried out, and the connection breaks before its answer."""
    await ask()
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def break_off(request: web.Request, ask: Ask) -> web.StreamResponse:
    """Half of the body comes, then the connection breaks."""
    status, headers, body = await ask()
    answer = web.StreamResponse(status=status, headers=headers | {"Content-Length": str(len(body))})
    await answer.prepare(request)
    await answer.write(body[: len(body) // 2])
    await asyncio.sleep(0.05)
    assert request.transport is not None
    request.transport.close()
    return answer


async def cut_short(request: web.Request, ask: Ask) -> web.StreamResponse:
    """Half of the body comes as if it were all."""
    status, headers, body = await ask()
    return web.Response(
        status=status, headers=_without(headers, "content-length"), body=body[: len(body) // 2]
    )


async def slow_down(request: web.Request, ask: Ask) -> web.StreamResponse:
    """Nothing is carried out."""
    return web.Response(status=503, headers={"Content-Type": "application/xml"}, body=SLOW_DOWN)


async def list_late(request: web.Request, ask: Ask) -> web.StreamResponse:
    """A listing knows nothing of what was put a moment ago."""
    status, headers, body = await ask()
    known = re.sub(rb"<Contents>.*?</Contents>", b"", body, flags=re.DOTALL)
    return web.Response(status=status, headers=_without(headers, "content-length"), body=known)


class Door:
    """The proxy: `url` is its address; `then` says what becomes of the next requests of a method."""

    def __init__(self, behind: str, session: aiohttp.ClientSession) -> None:
        self.url = ""
        self._behind = behind
        self._session = session
        self._faults: list[tuple[str, Fault]] = []

    def then(self, method: str, fault: Fault, times: int = 1) -> None:
        """The next requests of this method meet the fault; those after them none."""
        self._faults += [(method, fault)] * times

    @property
    def is_spent(self) -> bool:
        """Whether every fault has been met."""
        return not self._faults

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()

        async def ask() -> tuple[int, dict[str, str], bytes]:
            address = URL(self._behind + request.raw_path, encoded=True)
            headers: Any = {name.decode(): value.decode() for name, value in request.raw_headers}
            sent = self._session.request(
                request.method, address, headers=headers, data=body or None, allow_redirects=False
            )
            async with sent as found:
                kept = {name: value for name, value in found.headers.items() if name.lower() not in _HOP}
                return found.status, kept, await found.read()

        for place, (method, fault) in enumerate(self._faults):
            if method == request.method:
                del self._faults[place]
                return await fault(request, ask)
        status, headers, content = await ask()
        if request.method == "HEAD":
            return web.Response(status=status, headers=headers)
        return web.Response(status=status, headers=_without(headers, "content-length"), body=content)


@asynccontextmanager
async def door(behind: str) -> AsyncIterator[Door]:
    """A door before the server at this address, on a free port."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        found = Door(behind, session)
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", found.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield found
        finally:
            await runner.cleanup()


def _without(headers: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() != name}
