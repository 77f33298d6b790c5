"""Links that sign a browser in once."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from services.gateway.platform.auth.csrf import HEADER
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.test_idempotency import holds
from tests.integration.gateway.test_sign_in import person
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

PATH = "/v1/sign-in/link"


@pytest.fixture
async def anyone(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway.client("") as client:
        yield client


async def link(client: httpx.AsyncClient) -> dict[str, Any]:
    made = await client.post("/v1/sign-in/links", json={})
    assert made.status_code == 201, made.text
    return dict(made.json())


async def test_the_first_administrator_comes_in_by_it_once(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    made = await link(api)
    assert made["path"] == f"/#sign-in={made['secret']}"
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)

    page = {"Origin": gateway.url, HEADER: "cookie"}
    at_once = [anyone.post(PATH, json={"code": made["secret"]}, headers=page) for _ in range(5)]
    answers = await asyncio.gather(*at_once)
    assert sorted(answer.status_code for answer in answers) == [200, 422, 422, 422, 422]
    [session] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (session["via"], session["secret"], session["tenant"]) == ("link", "", "default")

    me = (await anyone.get("/v1/me", headers=page)).json()
    assert me["permissions"] == (await api.get("/v1/me")).json()["permissions"]
    made_there = await anyone.post("/v1/users", json={"name": "first-person"}, headers=page)
    assert made_there.status_code == 201, made_there.text

    refused = await anyone.post(PATH, json={"code": made["secret"]}, headers=page)
    assert refused.json()["code"] == "bad_sign_in_link" and "muster session link" in refused.json()["hint"]


async def test_it_counts_no_longer_than_15_minutes_or_its_token(
    api: httpx.AsyncClient, gateway: Gateway, anyone: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    late = await link(api)
    await api.post("/v1/users", json={"name": "brief"})
    token = (await api.post("/v1/users/brief/tokens", json={"name": "t", "ttl_s": 300})).json()
    async with gateway.client(token["secret"]) as brief:
        short, revoked = await link(brief), await link(brief)
    assert short["expires_at"] == token["expires_at"]
    session = (await anyone.post(PATH, json={"code": short["secret"]})).json()
    assert session["expires_at"] == token["expires_at"]

    await api.delete(f"/v1/tokens/{token['id']}")
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    await connection.execute("UPDATE gateway.sign_in_link SET expires_at = now() WHERE id = $1", late["id"])
    await connection.close()
    for code in (
        late["secret"],
        revoked["secret"],
        "msl_" + "x" * 43,
        session["secret"],
        gateway.admin_token,
    ):
        assert (await anyone.post(PATH, json={"code": code})).status_code in (401, 422)


async def test_only_a_token_makes_one(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "linker", "admin")
    session = (await anyone.post(PATH, json={"code": (await link(api))["secret"]})).json()
    async with gateway.client(session["secret"]) as signed_in:
        refused = await signed_in.post("/v1/sign-in/links", json={})
    assert (refused.status_code, refused.json()["code"]) == (422, "token_needed")


async def test_no_table_and_no_audit_record_holds_a_code(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    key = {"Idempotency-Key": "one-link"}
    asked = [api.post("/v1/sign-in/links", json={}, headers=key) for _ in range(3)]
    answers = {answer.text for answer in await asyncio.gather(*asked)}
    assert len(answers) == 1, "asked again, it is the same link"
    code = json.loads(answers.pop())["secret"]
    assert (await anyone.post(PATH, json={"code": code})).status_code == 200
    records = ""

    async def is_recorded() -> bool:
        nonlocal records
        records = (await api.get("/v1/audit")).text
        return "SignInWithLink" in records

    await eventually(is_recorded)
    assert code not in records
    assert not await holds(postgres.urls["gateway"].system, code)
