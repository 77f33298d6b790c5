"""The side port of every process: `/live`, `/ready` and `/metrics`.

`/live` responds while the process runs, whatever the state of its dependencies: a restart would not help them.
`/ready` returns 200 while every check passes and 503 otherwise, with the last result of each check. `?exclude=NAME`
ignores a check in the status, for a load balancer that should keep sending while that dependency is down.
"""

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler

from shared.messages.health import HealthReport
from shared.settings import SideSettings
from shared.telemetry import metrics

Readiness = Callable[[], HealthReport]


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
    async def ready(request: web.Request) -> web.Response:
        report, excluded = readiness(), request.query.getall("exclude", [])
        is_ready = all(check.ok or check.name in excluded for check in report.checks)
        body = {"ready": is_ready, **report.model_dump(mode="json")}
        return web.json_response(body, status=200 if is_ready else 503)

    return ready


def _metrics(settings: SideSettings) -> Handler:
    async def serve(request: web.Request) -> web.Response:
        if settings.token is not None:
            expected = f"Bearer {settings.token.get_secret_value()}".encode()
            if not hmac.compare_digest(expected, request.headers.get("Authorization", "").encode()):
                return web.json_response(
                    {"detail": "send the token set in MUSTER_SIDE__TOKEN as a bearer token to read metrics"},
                    status=401,
                )
        body, content_type = metrics.exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    return serve
