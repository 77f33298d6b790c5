"""Passwords and sessions: who is let in, how it ends everywhere, and what is told to who is not."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import grpc.aio
import httpx
import pytest

from services.gateway.operation_table import OPERATIONS
from tests.integration.gateway.conftest import Gateway, Others, start_replica, stop_gateway
from tests.integration.gateway.matrix import ask_rpc
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

PASSWORD, OTHER = "correct horse battery", "another staple entirely"
WITHIN_S = 5.0
"""So soon must an ended session be refused everywhere."""


@pytest.fixture
async def anyone(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway.client("") as client:
        yield client


async def person(api: httpx.AsyncClient, name: str, role: str | None = None) -> None:
    """Somebody with a password."""
    assert (await api.post("/v1/users", json={"name": name})).status_code == 201
    if role is not None:
        assert (await api.post("/v1/role-bindings", json={"role": role, "user": name})).status_code == 201
    answer = await api.put(f"/v1/users/{name}/password", json={"password": PASSWORD})
    assert answer.status_code == 200, answer.text


async def sign_in(anyone: httpx.AsyncClient, user: str, password: str = PASSWORD) -> dict[str, Any]:
    answer = await anyone.post("/v1/sessions", json={"user": user, "password": password})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def refused_within(client: httpx.AsyncClient, seconds: float) -> None:
    began = datetime.now(UTC)

    async def is_refused() -> bool:
        return (await client.get("/v1/me")).status_code == 401

    await eventually(is_refused)
    assert datetime.now(UTC) - began < timedelta(seconds=seconds)


async def test_a_person_signs_in_and_out(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "ann", "editor")
    made = await sign_in(anyone, "ann")
    assert made["secret"].startswith("mss_") and made["via"] == "password"
    async with (
        gateway.client(made["secret"]) as ann,
        gateway.client((await sign_in(anyone, "ann"))["secret"]) as other,
    ):
        me = (await ann.get("/v1/me")).json()
        assert (me["name"], me["role"]) == ("ann", "editor")
        assert me["expires_at"] == made["expires_at"]
        mine = (await ann.get("/v1/sessions")).json()["items"]
        assert len(mine) == 2 and [one["id"] for one in mine if one["current"]] == [made["id"]]
        assert mine[0]["address"] == "127.0.0.1" and "secret" not in mine[0]
        assert (await ann.delete("/v1/sessions/current")).json()["id"] == made["id"]
        await refused_within(ann, WITHIN_S)
        assert (await other.get("/v1/me")).status_code == 200
        one = (await other.get("/v1/sessions")).json()["items"]
        assert (await other.delete(f"/v1/sessions/{made['id']}")).status_code == 404
        assert (await other.delete(f"/v1/sessions/{one[0]['id']}")).status_code == 200
        await refused_within(other, WITHIN_S)


async def test_ended_on_one_replica_is_ended_on_all(
    gateway: Gateway,
    api: httpx.AsyncClient,
    anyone: httpx.AsyncClient,
    others: Others,
    settings: Callable[[str], dict[str, str]],
    tmp_path: Path,
) -> None:
    replica = await start_replica(gateway, settings("gateway"), tmp_path)
    try:
        for name, end in (
            ("by-admin", ("DELETE", "/v1/users/by-admin/sessions", None)),
            ("by-disabling", ("PATCH", "/v1/users/by-disabling", {"disabled": True})),
            ("by-password", ("PUT", "/v1/users/by-password/password", {"password": OTHER})),
        ):
            await person(api, name)
            secret = (await sign_in(anyone, name))["secret"]
            async with replica.client(secret) as elsewhere, gateway.client(secret) as here:
                assert (await elsewhere.get("/v1/me")).status_code == 200
                answer = (
                    await api.request(end[0], end[1], json=end[2]) if end[2] else await api.delete(end[1])
                )
                assert answer.status_code == 200, answer.text
                await refused_within(elsewhere, WITHIN_S)
                await refused_within(here, WITHIN_S)
        again = await api.patch("/v1/users/by-disabling", json={"disabled": False})
        assert again.status_code == 200
        listed = (await api.get("/v1/users/by-disabling/sessions")).json()
        assert listed["items"] == [], "a session comes back with its user"
    finally:
        await stop_gateway(replica)


async def test_whatever_is_wrong_looks_the_same(api: httpx.AsyncClient, anyone: httpx.AsyncClient) -> None:
    await person(api, "bob")
    await api.post("/v1/users", json={"name": "no-password"})
    await person(api, "gone")
    await api.patch("/v1/users/gone", json={"disabled": True})
    told = set()
    for tried in (
        {"user": "bob", "password": OTHER},
        {"user": "nobody", "password": PASSWORD},
        {"user": "no-password", "password": PASSWORD},
        {"user": "gone", "password": PASSWORD},
        {"tenant": "nowhere", "user": "bob", "password": PASSWORD},
    ):
        answer = await anyone.post("/v1/sessions", json=tried)
        problem = answer.json()
        told.add((answer.status_code, problem["code"], problem["detail"], problem.get("hint")))
    assert len(told) == 1 and next(iter(told))[:2] == (401, "unauthenticated")


async def test_too_many_attempts_wait_be_there_somebody_or_not(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "tried")
    for name in ("tried", "never-was"):
        codes: list[int] = []
        while 429 not in codes and len(codes) < 60:
            last = await anyone.post("/v1/sessions", json={"user": name, "password": OTHER})
            codes.append(last.status_code)
        assert codes[:5] == [401] * 5 and codes[-1] == 429, (name, codes)
        assert last.json()["code"] == "rate_limited" and int(last.headers["retry-after"]) >= 1
        right = await anyone.post("/v1/sessions", json={"user": name, "password": PASSWORD})
        assert right.status_code == 429, "the right password is told from a wrong one while nobody may try"


async def test_a_session_ends_by_itself(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    await person(api, "idle")
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    for change in ("used_at = now() - interval '4 days'", "expires_at = now() - interval '1 second'"):
        made = await sign_in(anyone, "idle")
        await connection.execute(f"UPDATE gateway.session SET {change} WHERE id = $1", made["id"])
        async with gateway.client(made["secret"]) as client:
            assert (await client.get("/v1/me")).status_code == 401, change
    made = await sign_in(anyone, "idle")
    await connection.execute(
        "UPDATE gateway.session SET used_at = now() - interval '1 day' WHERE id = $1", made["id"]
    )
    async with gateway.client(made["secret"]) as client:
        assert (await client.get("/v1/me")).status_code == 200
    used = await connection.fetchval("SELECT used_at FROM gateway.session WHERE id = $1", made["id"])
    await connection.close()
    assert datetime.now(UTC) - used < timedelta(minutes=1), "a session in use would end as if it were idle"


async def test_one_changes_ones_own_password_knowing_it(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "eve")
    here, there = [(await sign_in(anyone, "eve"))["secret"] for _ in range(2)]
    async with gateway.client(here) as eve, gateway.client(there) as elsewhere:
        path = "/v1/me/password"
        wrong = await eve.post(path, json={"old_password": OTHER, "new_password": OTHER})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "wrong_password")
        weak = await eve.post(path, json={"old_password": PASSWORD, "new_password": "short"})
        assert weak.json()["code"] == "weak_password" and weak.json()["place"] == "new_password"
        assert (
            await eve.post(path, json={"old_password": PASSWORD, "new_password": OTHER})
        ).status_code == 200
        await refused_within(elsewhere, WITHIN_S)
        assert (await eve.get("/v1/me")).status_code == 200
    assert (await anyone.post("/v1/sessions", json={"user": "eve", "password": PASSWORD})).status_code == 401
    await sign_in(anyone, "eve", OTHER)


async def test_nobody_becomes_who_has_more_by_a_password_or_a_link(
    gateway: Gateway, api: httpx.AsyncClient
) -> None:
    await api.post("/v1/roles", json={"name": "clerk", "permissions": ["access.manage", "access.read"]})
    await person(api, "clerk", "clerk")
    await person(api, "boss", "admin")
    secret = (await api.post("/v1/users/clerk/tokens", json={"name": "x"})).json()["secret"]
    async with gateway.client(secret) as clerk:
        for answer in (
            await clerk.put("/v1/users/boss/password", json={"password": OTHER}),
            await clerk.post("/v1/users/boss/identities", json={"provider": "here", "subject": "clerk"}),
            await clerk.delete("/v1/users/boss/sessions"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    program = await api.post("/v1/users", json={"name": "program", "kind": "service_account"})
    assert program.status_code == 201
    answer = await api.put("/v1/users/program/password", json={"password": OTHER})
    assert answer.json()["code"] == "not_a_person"


async def test_what_is_secret_stands_nowhere(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    await person(api, "mallory")
    made = await sign_in(anyone, "mallory")
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    stored = ""
    for table in ("session", "password", "identity", "event", "outbox", "idempotency"):
        rows = await connection.fetch(f"SELECT row_to_json(t)::text FROM gateway.{table} t")
        stored += " ".join(row[0] for row in rows)
    await connection.close()
    assert "$argon2id$" in stored
    for secret in (made["secret"], PASSWORD):
        assert secret not in stored and secret not in gateway.log.read_text()


async def test_a_session_counts_for_grpc_too(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "rpc")
    row = next(one for one in OPERATIONS if one.name == "GetMe")
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        made = await sign_in(anyone, "rpc")
        assert await ask_rpc(channel, row, {}, made["secret"]) is grpc.StatusCode.OK
        assert await ask_rpc(channel, row, {}, made["secret"][:-1]) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_tenant_that_nobody_gets_into_is_recovered(gateway: Gateway, api: httpx.AsyncClient) -> None:
    lost = (await api.post("/v1/tenants", json={"name": "initech"})).json()
    async with gateway.client(lost["secret"]) as admin:
        token = (await admin.get("/v1/me")).json()["token"]
        assert (await admin.delete(f"/v1/tokens/{token}")).status_code == 200
        assert (await admin.post("/v1/tenants/default/recover", json={})).status_code in (401, 404)
        await refused_within(admin, WITHIN_S)
    nowhere = await api.post("/v1/tenants/nowhere/recover", json={})
    assert nowhere.status_code == 404
    found = await api.post("/v1/tenants/initech/recover", json={})
    assert found.status_code == 201 and found.json()["id"] == lost["id"], found.text
    async with gateway.client(found.json()["secret"]) as admin:
        me = (await admin.get("/v1/me")).json()
        assert (me["tenant_name"], me["role"]) == ("initech", "admin")
        names = [one["name"] for one in (await admin.get("/v1/tokens")).json()["items"]]
        assert names[0] == "recovery by admin of default", "the tenant does not see that it was done"


async def test_who_signed_in_and_who_was_refused_stands_in_the_tenants_log(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await person(api, "noted")
    made = await sign_in(anyone, "noted")
    await anyone.post("/v1/sessions", json={"user": "noted", "password": OTHER})
    await anyone.post("/v1/sessions", json={"user": "MyPassw0rdInTheWrongField", "password": OTHER})

    async def found() -> bool:
        answer = await api.get("/v1/audit", params={"limit": 200})
        known = {
            (one.get("operation"), one.get("actor"), one.get("outcome")) for one in answer.json()["items"]
        }
        assert "MyPassw0rd" not in answer.text and PASSWORD not in answer.text
        wanted = {("SignIn", "noted", "allowed"), ("SignIn", "noted", "denied"), ("SignIn", "", "denied")}
        return wanted <= {(operation, actor or "", outcome) for operation, actor, outcome in known}

    await eventually(found)
    (entry,) = [
        one
        for one in (await api.get("/v1/audit", params={"limit": 200})).json()["items"]
        if (one.get("actor"), one.get("outcome")) == ("noted", "allowed")
    ]
    assert made["id"] in entry["entity"] and made["secret"] not in str(entry)
