"""The streams over WebSockets: the same events, positions and refusals as by SSE."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import pytest

from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import TIMEOUT_S


@asynccontextmanager
async def connect(
    gateway: Gateway, path: str = "/v1/events", **options: Any
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    options = {"headers": {"Authorization": f"Bearer {gateway.admin_token}"}} | options
    async with aiohttp.ClientSession(gateway.url) as session, session.ws_connect(path, **options) as socket:
        yield socket


async def frame(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    return dict(await socket.receive_json(timeout=TIMEOUT_S))


async def test_events_come_as_frames_and_go_on_behind_the_last_one_seen(
    gateway: Gateway, api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    async with connect(gateway, "/v1/events?kind=experiment") as socket:
        start = await frame(socket)
        assert start["id"].isdecimal() and "data" not in start
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1), changed(made, 2))
        first = await frame(socket)
        assert (first["event"], first["data"]["entity"], first["data"]["version"]) == (
            "experiment", made["id"], 1,
        )  # fmt: skip
    async with connect(gateway, f"/v1/events?after={first['id']}") as socket:
        assert (await frame(socket))["id"] == first["id"]
        assert (await frame(socket))["data"]["version"] == 2


async def test_a_browser_names_its_token_as_a_protocol(gateway: Gateway) -> None:
    names = ("muster.v1", f"bearer.{gateway.admin_token}")
    async with connect(gateway, headers={}, protocols=names) as socket:
        assert socket.protocol == "muster.v1", "the token is not said back"
        assert (await frame(socket))["id"].isdecimal()
    async with connect(gateway, headers={}, protocols=names[1:]) as socket:
        assert (await frame(socket))["id"].isdecimal()
    assert gateway.admin_token not in gateway.log.read_text()


@pytest.mark.parametrize(
    ("path", "options", "status"),
    [
        ("/v1/events", {"headers": {}}, 401),
        ("/v1/events", {"headers": {}, "protocols": ("muster.v1", "bearer.mst_wrong")}, 401),
        ("/v1/events?after=never", {}, 400),
        ("/v1/events?nothing=1", {}, 400),
        ("/v1/trials/7.1/logs/follow", {}, 404),
    ],
)
async def test_what_is_refused_is_refused_before_the_handshake(
    gateway: Gateway, path: str, options: dict[str, Any], status: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with connect(gateway, path, **options):
            pass
    assert refused.value.status == status


async def test_who_speaks_on_a_stream_is_sent_away(gateway: Gateway) -> None:
    async with connect(gateway) as socket:
        await frame(socket)
        await socket.send_str("hello")
        message = await socket.receive(timeout=TIMEOUT_S)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.UNSUPPORTED_DATA)


async def test_a_revoked_token_hears_nothing_more(
    gateway: Gateway, api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    token = (await api.post("/v1/tokens", json={"name": "watch", "role": "viewer"})).json()
    async with connect(gateway, headers={"Authorization": f"Bearer {token['secret']}"}) as socket:
        await frame(socket)
        assert (await api.delete(f"/v1/tokens/{token['id']}")).status_code == 200
        await asyncio.sleep(2.5)  # a caller is remembered for 2 s
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
        told = await frame(socket)
        assert (told["event"], told["data"]["code"]) == ("problem", "unauthenticated")
