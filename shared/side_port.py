"""The side port of every process: `/live`, `/ready` and `/metrics`, beside whatever it serves."""

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler

from shared.settings import SideSettings
from shared.telemetry import metrics

Readiness = Callable[[], dict[str, bool]]


@asynccontextmanager
async def side_port(settings: SideSettings, readiness: Readiness) -> AsyncIterator[int]:
    """Serve the side port and yield its number.

    Raises:
        OSError: The port is in use.
    """
    application = web.Application()
    application.router.add_get("/live", _live)
    application.router.add_get("/ready", _ready(readiness))
    application.router.add_get("/metrics", _metrics(settings))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port, shutdown_timeout=1.0)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _live(_: web.Request) -> web.Response:
    return web.json_response({"live": True})


def _ready(readiness: Readiness) -> Handler:
    async def ready(_: web.Request) -> web.Response:
        checks = readiness()
        return web.json_response(checks, status=200 if all(checks.values()) else 503)

    return ready


def _metrics(settings: SideSettings) -> Handler:
    async def figures(request: web.Request) -> web.Response:
        if settings.token is not None:
            expected = f"Bearer {settings.token.get_secret_value()}".encode()
            if not hmac.compare_digest(expected, request.headers.get("Authorization", "").encode()):
                return web.json_response(
                    {"detail": "metrics need the bearer token of MUSTER_SIDE__TOKEN"}, status=401
                )
        body, content_type = metrics.exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    return figures
