"""An operation that is on its way out, asked for over both protocols. The gateway's own table retires nothing: these rows are the test's."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import grpc
import httpx
import pytest
from aiohttp.test_utils import TestServer

from muster.errors import Rejected
from services.gateway.health.schema import Health
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.call_context import UNAUTHENTICATED, Caller
from services.gateway.platform.dispatch import Dispatcher
from services.gateway.platform.operation import Idempotency, Operation, Retirement
from services.gateway.platform.schema import Empty
from services.gateway.transports.grpc.server import Rpc
from services.gateway.transports.rest.app import Rest, RestSettings
from shared.clock import SystemClock

ABOUT = "https://muster.example/api#health"
RETIRED = Retirement(datetime(2026, 11, 22, tzinfo=UTC), datetime(2027, 11, 22, tzinfo=UTC), ABOUT)
TOLD = {
    "deprecation": "@1795305600",
    "sunset": "Mon, 22 Nov 2027 00:00:00 GMT",
    "link": f'<{ABOUT}>; rel="deprecation"; type="text/html"',
}
ASKED: Operation[Any, Any] = Operation(
    "GetHealth",
    "GET",
    "/v1/health",
    Empty,
    Health,
    Access.PUBLIC,
    Idempotency.SAFE,
    cast(Any, None),
    retired=RETIRED,
)
FOLLOWED = dataclasses.replace(ASKED, name="WatchHealth", path="/v1/health/watch", stream="server")
HEALTH = Health(status="ok", version="1")


class OpenFront:
    """Lets everybody in who brings no token, and knows one answer."""

    def __init__(self) -> None:
        self.dependencies = SimpleNamespace(clock=SystemClock())

    @asynccontextmanager
    async def admit(self, row: object, shown: Any, *where: object) -> AsyncIterator[Caller]:
        if shown.bearer:
            raise Rejected("forbidden", "not you")
        yield UNAUTHENTICATED

    async def call(self, *_: object) -> Health:
        return HEALTH

    async def stream(self, *_: object) -> AsyncIterator[Health]:
        yield HEALTH


FRONT = cast(Dispatcher, OpenFront())
REFUSED = {"Authorization": "Bearer mst_x"}


@pytest.mark.parametrize("path", [ASKED.path, FOLLOWED.path])
async def test_rest_says_that_an_operation_goes_in_answers_streams_and_refusals(path: str) -> None:
    limits = RestSettings(frozenset({"127.0.0.1"}), 5, 5, 1000)
    async with TestServer(Rest(FRONT, limits).application((ASKED, FOLLOWED))) as server:
        async with httpx.AsyncClient(base_url=str(server.make_url("/"))) as client:
            shown, refused = await client.get(path), await client.get(path, headers=REFUSED)
    assert (shown.status_code, refused.json()["code"]) == (200, "forbidden")
    for answer in (shown, refused):
        assert TOLD.items() <= dict(answer.headers).items()


async def test_grpc_says_that_an_operation_goes_in_answers_streams_and_refusals() -> None:
    server, port = Rpc(FRONT).server((ASKED, FOLLOWED), "127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            asked = channel.unary_unary("/muster.v1.Muster/GetHealth", None, None)(b"")
            await asked
            followed = channel.unary_stream("/muster.v1.Muster/WatchHealth", None, None)(b"")
            assert len([one async for one in followed]) == 1
            refused = channel.unary_unary("/muster.v1.Muster/GetHealth", None, None)(
                b"", metadata=(("authorization", "Bearer mst_x"),)
            )
            with pytest.raises(grpc.aio.AioRpcError, match="not you"):
                await refused
            for call in (asked, followed, refused):
                assert TOLD.items() <= dict(await call.trailing_metadata()).items()
    finally:
        await server.stop(0)
