"""An object store that stands in where files are sent to and fetched from."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from shared.messages.files import Confirmed, ConfirmUpload, GetUploadUrl, UploadTarget


class Store:
    """An object store of one bucket, and the registry's knowledge of it."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.known: set[str] = set()
        self.url = ""

    async def put(self, request: web.Request) -> web.Response:
        self.objects[request.match_info["key"]] = await request.read()
        return web.Response()

    async def get(self, request: web.Request) -> web.Response:
        span = request.http_range
        return web.Response(status=206, body=self.objects[request.match_info["key"]][span.start : span.stop])

    def target(self, ask: Any, query: GetUploadUrl) -> UploadTarget:
        known = query.sha256 in self.known
        return UploadTarget(known=known, url=None if known else f"{self.url}/{query.sha256}")

    def confirm(self, ask: Any, query: ConfirmUpload) -> Confirmed:
        stored = self.objects[query.sha256]
        assert hashlib.sha256(stored).hexdigest() == query.sha256 and len(stored) == query.size_bytes
        self.known.add(query.sha256)
        return Confirmed(sha256=query.sha256, size_bytes=query.size_bytes)


@asynccontextmanager
async def serve_store() -> AsyncIterator[Store]:
    """A store on a port of its own."""
    found = Store()
    app = web.Application(client_max_size=2**28)
    app.router.add_put("/{key}", found.put)
    app.router.add_get("/{key}", found.get)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield found
    finally:
        await runner.cleanup()
