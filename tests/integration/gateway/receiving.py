"""A receiver of webhooks, as somebody would write one: it checks signatures, and answers as a test tells it to."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Got:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def type(self) -> str:
        return str(self.event["type"]).removeprefix("com.muster.")

    def is_signed_by(self, secret: str) -> bool:
        """Whether one of the signatures is the secret's, over id, moment and body."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        mine = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
        given = [one.removeprefix("v1,") for one in self.headers["webhook-signature"].split(" ")]
        return any(hmac.compare_digest(mine, one) for one in given)


@dataclass
class Receiver:
    """What came, by path, and what is answered there; 204 where nothing else is said."""

    url: str
    got: list[Got] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    most_open: dict[str, int] = field(default_factory=dict)

    def at(self, path: str) -> list[Got]:
        return [one for one in self.got if one.path == path]

    def types_at(self, path: str) -> list[str]:
        return [one.type for one in self.at(path)]

    def say(self, path: str, status: int, **headers: str) -> None:
        """From now on this is answered."""

        async def answer(_: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers=headers)

        self.answers[path] = answer

    async def take(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        self.got.append(
            Got(path, {name.lower(): value for name, value in request.headers.items()}, await request.read())
        )
        self.open[path] = self.open.get(path, 0) + 1
        self.most_open[path] = max(self.most_open.get(path, 0), self.open[path])
        try:
            found = self.answers.get(path)
            return web.Response(status=204) if found is None else await found(request)
        finally:
            self.open[path] -= 1


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a free port of this machine."""
    found = Receiver("")
    application = web.Application()
    application.router.add_route("*", "/{any:.*}", found.take)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    found.url = f"http://127.0.0.1:{port}"
    try:
        yield found
    finally:
        await runner.cleanup()


async def never(_: web.Request) -> web.StreamResponse:
    """Takes the request and says nothing."""
    await asyncio.sleep(3600)
    return web.Response()


async def trickle(request: web.Request) -> web.StreamResponse:
    """Begins to answer, and goes on for ever."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    while True:
        await response.write(b"x")
        await asyncio.sleep(0.05)


async def flood(request: web.Request) -> web.StreamResponse:
    """Answers with more than anybody should read."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    for _ in range(2000):
        await response.write(b"x" * 1024 * 1024)
    return response
