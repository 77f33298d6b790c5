"""Users, groups and roles: what is given counts soon, nobody hands out more than they have, and a tenant keeps somebody who manages it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from shared.messages.pools import ClusterView, GetCluster
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import CONFIG, seed
from tests.integration.servers import TestDatabase
from tests.support.waiting import TIMEOUT_S, eventually

IN_VISION = f"{CONFIG}workspace: vision\nproject: detect\n"


@pytest.fixture(scope="module")
async def tenant(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """The client of a new tenant's first admin."""
    async with gateway.client() as operator:
        made = await operator.post("/v1/tenants", json={"name": "acme"})
        assert made.status_code == 201, made.text
        again = await operator.post("/v1/tenants", json={"name": "acme"})
        assert again.status_code == 409 and again.json()["code"] == "tenant_exists"
        assert "acme" in [one["name"] for one in (await operator.get("/v1/tenants")).json()["items"]]
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


async def post(client: httpx.AsyncClient, path: str, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def user(tenant: httpx.AsyncClient, name: str, *grants: dict[str, str]) -> str:
    """A user with these roles, and its token."""
    await post(tenant, "/v1/users", name=name)
    for grant in grants:
        answer = await tenant.post("/v1/role-bindings", json={"user": name, **grant})
        assert answer.status_code == 201, answer.text
    secret: str = (await post(tenant, f"/v1/users/{name}/tokens", name=name))["secret"]
    return secret


async def soon(client: httpx.AsyncClient, path: str, status: int) -> None:
    async def answers() -> bool:
        return (await client.get(path)).status_code == status

    await eventually(answers)


async def test_what_is_given_counts_soon_and_what_is_taken_no_more(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    async with gateway.client(await user(tenant, "ann")) as ann:
        assert (await ann.get("/v1/experiments")).status_code == 403
        grant = await post(tenant, "/v1/role-bindings", role="editor", user="ann", workspace="vision")
        same = await post(tenant, "/v1/role-bindings", role="editor", user="ann", workspace="vision")
        assert same["id"] == grant["id"] and grant["by"] == "admin"
        await soon(ann, "/v1/experiments", 200)
        me = (await ann.get("/v1/me")).json()
        assert me["roles"] == [{"role": "editor", "workspace": "vision", "project": None}]
        assert me["role"] == "viewer" and "experiment.write" in me["permissions"]
        made = await post(ann, "/v1/experiments", config_yaml=IN_VISION)
        assert made["owner"] == "ann"
        elsewhere = await post(ann, "/v1/experiments", 403, config_yaml=CONFIG)
        assert "workspace 'Uncategorized'" in elsewhere["detail"] and elsewhere["code"] == "forbidden"
        await post(ann, "/v1/models", 403, name="digits")
        revoked = await tenant.delete(f"/v1/role-bindings/{grant['id']}")
        assert revoked.json()["user"] == "ann"
        await soon(ann, f"/v1/experiments/{made['id']}", 404)
        assert (await tenant.delete(f"/v1/role-bindings/{grant['id']}")).status_code == 404


async def test_a_group_gives_its_members_what_it_was_given(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    async with gateway.client(await user(tenant, "bob")) as bob:
        await post(tenant, "/v1/groups", name="readers")
        await post(tenant, "/v1/role-bindings", role="viewer", group="readers")
        joined = await tenant.put("/v1/groups/readers/members/bob")
        assert joined.json()["groups"] == ["readers"]
        await soon(bob, "/v1/experiments", 200)
        assert [one["name"] for one in (await tenant.get("/v1/users?group=readers")).json()["items"]] == [
            "bob"
        ]
        assert (await tenant.get("/v1/groups/readers")).json()["members"] == 1
        assert (await tenant.delete("/v1/groups/readers")).status_code == 200
        await soon(bob, "/v1/experiments", 403)
        assert (await tenant.get("/v1/role-bindings?group=readers")).json()["items"] == []


async def test_a_role_of_the_tenants_own_is_made_of_permissions(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    refused = await post(tenant, "/v1/roles", 422, name="ops", permissions=["experiment.raed"])
    assert refused["code"] == "unknown_permission" and "experiment.read" in refused["hint"]
    beyond = await post(tenant, "/v1/roles", 403, name="ops", permissions=["cluster.manage"])
    assert "cluster.manage" in beyond["detail"]
    assert (await post(tenant, "/v1/roles", 409, name="editor", permissions=["self"]))[
        "code"
    ] == "role_exists"
    await post(tenant, "/v1/roles", name="lister", permissions=["experiment.read"])
    async with gateway.client(await user(tenant, "cid", {"role": "lister"})) as cid:
        assert (await cid.get("/v1/experiments")).status_code == 200
        assert (await cid.get("/v1/models")).status_code == 403
        changed = await tenant.patch("/v1/roles/lister", json={"permissions": ["model.read"]})
        assert changed.json()["permissions"] == ["model.read"]
        await soon(cid, "/v1/models", 200)
        assert (await cid.get("/v1/experiments")).status_code == 403
    kept = await tenant.delete("/v1/roles/lister")
    assert kept.status_code == 409 and kept.json()["code"] == "role_in_use"
    assert (await tenant.patch("/v1/roles/viewer", json={"description": "x"})).status_code == 409
    names = [one["name"] for one in (await tenant.get("/v1/roles")).json()["items"]]
    assert names[0] == "admin" and names[-1] == "lister"


async def test_nobody_hands_out_more_than_they_have(gateway: Gateway, tenant: httpx.AsyncClient) -> None:
    for body in ({"role": "operator", "user": "admin"}, {"role": "operator", "group": "staff"}):
        answer = await tenant.post("/v1/role-bindings", json=body)
        assert answer.status_code == 403 and "tenant.manage" in answer.json()["detail"]
    token = await tenant.post("/v1/tokens", json={"name": "x", "role": "operator"})
    assert token.status_code == 403, "a tenant's admin has not what belongs to the site"
    wide = await post(tenant, "/v1/role-bindings", 422, role="admin", user="admin", workspace="vision")
    assert wide["code"] == "role_too_wide"
    await post(tenant, "/v1/groups", name="staff")
    await post(tenant, "/v1/role-bindings", role="admin", group="staff")
    await post(
        tenant, "/v1/roles", name="clerk", permissions=["access.manage", "access.grant", "token.manage"]
    )
    lead = await user(tenant, "lea", {"role": "workspace-admin", "workspace": "vision"})
    clerk = await user(tenant, "max", {"role": "clerk"})
    async with gateway.client(lead) as lea, gateway.client(clerk) as max_:
        given = await post(lea, "/v1/role-bindings", role="viewer", user="max", workspace="vision")
        assert (await lea.delete(f"/v1/role-bindings/{given['id']}")).status_code == 200
        await post(lea, "/v1/role-bindings", 403, role="viewer", user="max")
        await post(lea, "/v1/role-bindings", 403, role="viewer", user="max", workspace="speech")
        seen = {one["workspace"] for one in (await lea.get("/v1/role-bindings")).json()["items"]}
        assert seen == {"vision"}, "who has access elsewhere is not theirs to see"
        await post(max_, "/v1/role-bindings", 403, role="viewer", user="max")
        assert (await max_.put("/v1/groups/staff/members/max")).status_code == 403
        await post(max_, "/v1/users/lea/tokens", 403, name="x")
        await post(max_, "/v1/users/max/tokens", name="x")
        await post(max_, "/v1/users/admin/tokens", name="narrow", scope=["token.manage"])


async def test_somebody_who_manages_a_tenant_always_stays(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    mine = (await tenant.get("/v1/role-bindings?user=admin&role=admin")).json()["items"][0]
    for answer in (
        await tenant.delete(f"/v1/role-bindings/{mine['id']}"),
        await tenant.patch("/v1/users/admin", json={"disabled": True}),
    ):
        assert answer.status_code == 409 and answer.json()["code"] == "own_access"
    assert (await tenant.get("/v1/users/admin")).json()["disabled_at"] is None
    async with gateway.client(await user(tenant, "leo", {"role": "workspace-admin"})) as leo:
        above = await leo.delete(f"/v1/role-bindings/{mine['id']}")
    assert above.status_code == 403 and "access.manage" in above.json()["detail"]


async def test_of_two_who_take_each_others_access_one_keeps_it(
    gateway: Gateway, postgres: TestDatabase, tenant: httpx.AsyncClient
) -> None:
    secret = await user(tenant, "zoe", {"role": "admin"})
    theirs, mine = [
        (await tenant.get(f"/v1/role-bindings?user={name}&role=admin")).json()["items"][0]["id"]
        for name in ("zoe", "admin")
    ]
    key = f"muster:access:{(await tenant.get('/v1/me')).json()['tenant']}"
    other = await asyncpg.connect(postgres.urls["gateway"].system)
    administrator = await asyncpg.connect(postgres.administrator_url)

    async def waits() -> bool:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'advisory'"
        return bool(await administrator.fetch(waiting, postgres.name))

    try:
        async with gateway.client(secret) as zoe:
            async with other.transaction():
                await other.execute("DELETE FROM gateway.role_binding WHERE id = $1", UUID(theirs))
                await other.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", key)
                asking = asyncio.create_task(zoe.delete(f"/v1/role-bindings/{mine}"))
                await eventually(waits)
            answer = await asking
    finally:
        await other.close()
        await administrator.close()
    assert answer.status_code == 409 and answer.json()["code"] == "own_access"


async def test_a_token_is_narrowed_to_its_scope_and_ends_with_its_user(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    await user(tenant, "ci", {"role": "editor"})
    made = await post(tenant, "/v1/users/ci/tokens", name="reader", scope=["experiment.read"])
    assert made["user"] == "ci" and made["scope"] == ["experiment.read"]
    async with gateway.client(made["secret"]) as ci:
        assert (await ci.get("/v1/experiments")).status_code == 200
        await post(ci, "/v1/experiments", 403, config_yaml=CONFIG)
        disabled = await tenant.patch("/v1/users/ci", json={"disabled": True})
        assert disabled.json()["disabled_at"]
        await soon(ci, "/v1/me", 401)
        await tenant.patch("/v1/users/ci", json={"disabled": False})
        await soon(ci, "/v1/me", 200)


async def test_who_keeps_the_site_sees_machines_and_no_tenants_content(
    gateway: Gateway, others: Others, tenant: httpx.AsyncClient
) -> None:
    others.say(GetCluster, ClusterView(pools=(), workers=()))
    async with gateway.client() as first:
        keeper = await user(first, "keeper", {"role": "operator"})
    async with gateway.client(keeper) as operator:
        for path in ("/v1/workers", "/v1/pools", "/v1/instances", "/v1/tenants"):
            assert (await operator.get(path)).status_code == 200, path
        for path in ("/v1/experiments", "/v1/models", "/v1/users", "/v1/tokens", "/v1/events"):
            assert (await operator.get(path)).status_code == 403, path
    assert (await tenant.get("/v1/tenants")).status_code == 403
    assert (await tenant.get("/v1/workers")).status_code == 200


async def test_a_stream_ends_for_whom_it_is_no_longer(
    gateway: Gateway, others: Others, tenant: httpx.AsyncClient
) -> None:
    """What comes after the role was taken is not sent, and who still may connects again."""
    async with gateway.client() as admin:
        secret = await user(admin, "eve", {"role": "viewer"})
        grant = (await admin.get("/v1/role-bindings?user=eve")).json()["items"][0]
        async with gateway.client(secret) as eve:
            async with eve.stream("GET", "/v1/events", params={"after": "0"}) as stream:
                lines = stream.aiter_lines()
                await anext(lines)
                await admin.delete(f"/v1/role-bindings/{grant['id']}")
                await soon(eve, "/v1/experiments", 403)
                made = await seed(admin, others)
                async with asyncio.timeout(TIMEOUT_S):
                    rest = [line async for line in lines]
    assert str(made.trial) not in "".join(rest)
    assert any("restarting" in line for line in rest)
