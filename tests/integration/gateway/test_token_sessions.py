"""Sessions that stand for a token, so that a browser keeps none (decision 0197)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from services.gateway.platform.auth.csrf import HEADER
from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seeding import add_token
from tests.integration.gateway.test_sign_in import person, refused_within
from tests.integration.servers import TestDatabase
from tests.support.waiting import TIMEOUT_S

PATH = "/v1/sign-in/token"


@pytest.fixture
async def anyone(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway.client("") as client:
        yield client


async def session_for(anyone: httpx.AsyncClient, token: str) -> dict[str, Any]:
    made = await anyone.post(PATH, json={"token": token})
    assert made.status_code == 200, made.text
    return dict(made.json())


async def test_who_has_the_first_token_alone_is_signed_in_and_out(
    gateway: Gateway, anyone: httpx.AsyncClient
) -> None:
    made = await session_for(anyone, gateway.admin_token)
    assert (made["via"], made["tenant"]) == ("token", "default")
    async with gateway.client() as admin, gateway.client(made["secret"]) as signed_in:
        mine, its = [(await client.get("/v1/me")).json() for client in (admin, signed_in)]
        assert its["permissions"] == mine["permissions"] and its["roles"] == mine["roles"]
        group = await signed_in.post("/v1/groups", json={"name": "made-here"})
        assert group.status_code == 201, group.text
        assert (await signed_in.delete("/v1/sessions/current")).status_code == 200
        await refused_within(signed_in, TIMEOUT_S)
        assert (await admin.get("/v1/me")).status_code == 200, "the token is not what was ended"


async def test_it_is_narrow_as_the_token_is_and_ends_with_it(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "reader", "admin")
    asked = {"name": "page", "scope": ["experiment.read"], "ttl_s": 86400}
    token = (await api.post("/v1/users/reader/tokens", json=asked)).json()
    made = await session_for(anyone, token["secret"])
    lasts = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert lasts <= timedelta(days=1), "the token does not last longer"
    async with gateway.client(made["secret"]) as page:
        assert (await page.get("/v1/experiments")).status_code == 200
        assert (await page.post("/v1/groups", json={"name": "no"})).status_code in (403, 404)
        assert (await api.delete(f"/v1/tokens/{token['id']}")).status_code == 200
        await refused_within(page, TIMEOUT_S)


async def test_what_is_no_token_that_counts_begins_none(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    tokens = []
    for name in ("gone", "stays"):
        await person(api, name, "viewer")
        tokens.append((await api.post(f"/v1/users/{name}/tokens", json={"name": "old"})).json())
    revoked, disabled = tokens
    session = (await session_for(anyone, revoked["secret"]))["secret"]
    assert (await api.delete(f"/v1/tokens/{revoked['id']}")).status_code == 200
    assert (await api.patch("/v1/users/stays", json={"disabled": True})).status_code == 200
    past, system = datetime.now(UTC) - timedelta(seconds=1), postgres.urls["gateway"].system
    expired = await add_token(system, gateway.directory, DEFAULT_TENANT, "admin", "old", past)
    wrong = ("mst_wrong", "", session, gateway.admin_token[:-1])
    answers = [
        await anyone.post(PATH, json={"token": text})
        for text in (*wrong, revoked["secret"], disabled["secret"], expired)
    ]
    assert {answer.status_code for answer in answers} <= {400, 401, 422}
    assert [answer.status_code for answer in answers[-3:]] == [401] * 3
    said = {answer.json()["code"] for answer in answers if answer.status_code == 401}
    assert len(said) == 1, "which it was is not told"


async def test_a_browser_has_it_in_its_cookie(gateway: Gateway, anyone: httpx.AsyncClient) -> None:
    origin = {"Origin": gateway.url, HEADER: "cookie"}
    made = await anyone.post(PATH, json={"token": gateway.admin_token}, headers=origin)
    assert made.status_code == 200 and made.json()["secret"] == ""
    cookie = made.headers["set-cookie"]
    assert "HttpOnly" in cookie and gateway.admin_token not in cookie
    assert (await anyone.get("/v1/me", headers=origin)).json()["tenant_name"] == "default"
