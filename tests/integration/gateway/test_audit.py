"""The audit log: what was done is recorded with it, what was refused too, and nothing of it can be changed unseen."""

import asyncio
import json
from collections.abc import AsyncIterator

import asyncpg
import grpc
import grpc.aio
import httpx
import pytest

from services.gateway.operation_table import OPERATIONS
from tests.integration.gateway.audited import new_tenant, recorded, records, user
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.matrix import ask_rpc
from tests.integration.gateway.seeding import CONFIG
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

SECRET = "hunter2hunter2"
ROWS = {row.name: row for row in OPERATIONS}


@pytest.fixture(scope="module")
async def tenant(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with new_tenant(gateway, "audited") as admin:
        yield admin


async def test_a_record_says_who_what_from_where_and_what_came_of_it(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    config = f"{CONFIG}environment: {{environment_variables: ['KEY={SECRET}']}}\n"
    body = {"config_yaml": config, "name": "noted"}
    headers = {"Idempotency-Key": "once", "User-Agent": "a test/1"}
    made = (await tenant.post("/v1/experiments", json=body, headers=headers)).json()
    again = (await tenant.post("/v1/experiments", json=body, headers=headers)).json()
    assert again["id"] == made["id"]
    entity = f"experiment/{made['number']}"
    await recorded(tenant, entity=entity)
    first = (await records(tenant, entity=entity))[-1]
    me = (await tenant.get("/v1/me")).json()
    assert first["actor"] == me["name"] and first["token"] == me["token"]
    assert (first["operation"], first["outcome"]) == ("CreateExperiment", "allowed")
    assert (first["address"], first["protocol"], first["agent"]) == ("127.0.0.1", "rest", "a test/1")
    assert first["after"]["name"] == "noted" and first["after"]["config"]["searcher"]["name"] == "single"
    assert first["trace_id"] == made["trace_id"]
    assert SECRET not in json.dumps(first)
    (repeated,) = await recorded(tenant, operation="CreateExperiment", entity="experiment")
    assert repeated["code"] == "repeated" and repeated["after"] is None


async def test_what_was_and_what_is_stand_beside_each_other_and_secrets_nowhere(
    tenant: httpx.AsyncClient,
) -> None:
    await tenant.post("/v1/users", json={"name": "bea", "display_name": "Bea"})
    await tenant.patch("/v1/users/bea", json={"display_name": "Beatrice"})
    token = (await tenant.post("/v1/users/bea/tokens", json={"name": "t"})).json()
    (edited,) = await recorded(tenant, operation="EditUser", entity="user/bea")
    assert edited["before"]["display_name"] == "Bea" and edited["after"]["display_name"] == "Beatrice"
    assert edited["asked"] == {"display_name": "Beatrice"}
    (created,) = await recorded(tenant, operation="CreateUserToken")
    assert created["entity"] == f"user/bea/token/{token['id']}"
    assert token["secret"] not in json.dumps(await records(tenant))


async def test_what_stood_before_is_told_of_quotas_and_tokens_too(tenant: httpx.AsyncClient) -> None:
    for most in (3, 5):
        quota = {"workspace": "vision", "max_experiments": most}
        assert (await tenant.put("/v1/quotas/workspace", json=quota)).status_code == 200
    token = (await tenant.post("/v1/tokens", json={"name": "soon", "role": "viewer"})).json()
    assert (await tenant.delete(f"/v1/tokens/{token['id']}")).status_code == 200
    (revoked,) = await recorded(tenant, operation="RevokeToken")
    assert revoked["before"]["revoked_at"] is None and revoked["after"]["revoked_at"]
    told = await records(tenant, operation="SetWorkspaceQuota")
    stood = [(one["before"] or {}).get("max_experiments") for one in told]
    assert sorted(stood, key=str) == [3, None]


async def test_what_was_rolled_back_leaves_no_record(tenant: httpx.AsyncClient) -> None:
    assert (await tenant.post("/v1/groups", json={"name": "twice"})).status_code == 201
    assert (await tenant.post("/v1/groups", json={"name": "twice"})).status_code == 409
    assert (await tenant.post("/v1/groups", json={"name": "after"})).status_code == 201
    await recorded(tenant, entity="group/after")
    assert len(await records(tenant, operation="CreateGroup")) == 2


async def test_a_refusal_is_recorded_with_who_and_what(gateway: Gateway, tenant: httpx.AsyncClient) -> None:
    async with (
        gateway.client(await user(tenant, "vic", "viewer")) as vic,
        grpc.aio.insecure_channel(gateway.grpc_address) as channel,
    ):
        assert (await vic.post("/v1/experiments", json={"config_yaml": CONFIG})).status_code == 403
        assert (await vic.delete("/v1/groups/nowhere")).status_code == 404
        status = await ask_rpc(channel, ROWS["CreateGroup"], {"name": "x"}, vic.headers["authorization"][7:])
        assert status is grpc.StatusCode.PERMISSION_DENIED
    (created,) = await recorded(tenant, operation="CreateExperiment", outcome="denied")
    assert (created["actor"], created["code"], created["count"]) == ("vic", "forbidden", 1)
    (deleted,) = await recorded(tenant, operation="DeleteGroup", outcome="denied")
    assert deleted["path"] == {"group": "nowhere"} and deleted["entity"] == "group/nowhere"
    (called,) = await recorded(tenant, operation="CreateGroup", outcome="denied")
    assert called["protocol"] == "grpc" and called["address"] == "127.0.0.1" and called["agent"]


async def test_refused_tokens_are_recorded_and_a_flood_of_them_is_counted(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    made = (await tenant.post("/v1/tokens", json={"name": "gone", "role": "viewer"})).json()
    await tenant.delete(f"/v1/tokens/{made['id']}")
    async with gateway.client(made["secret"]) as gone:
        assert (await gone.get("/v1/me")).status_code == 401
    (refused,) = await recorded(tenant, outcome="denied", entity="me")
    assert (refused["code"], refused["token"], refused["actor"]) == ("token_revoked", made["id"], "gone")

    async with gateway.client() as operator, gateway.client("mst_" + "A" * 43) as nobody:
        answers = await asyncio.gather(*(nobody.get(f"/v1/trials/{one}") for one in range(300)))
        assert {answer.status_code for answer in answers} == {401}

        async def all_counted() -> bool:
            denied = await records(operator, "/v1/site/audit", outcome="denied")
            counts = [one["count"] for one in denied if one["code"] in ("no_such_token", "many_more")]
            return bool(sum(counts) >= 300)

        await eventually(all_counted)
        assert len(await records(operator, "/v1/site/audit", outcome="denied")) < 100


async def test_a_tenant_reads_its_own_log_and_who_keeps_the_site_the_sites(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    await tenant.post("/v1/groups", json={"name": "of-the-audited"})
    await recorded(tenant, entity="group/of-the-audited")
    me = (await tenant.get("/v1/me")).json()
    founding = await records(tenant, operation="CreateTenant")
    assert [one["after"]["id"] for one in founding] == [me["tenant"]]
    async with gateway.client(await user(tenant, "aud", "auditor")) as auditor:
        assert await records(auditor, entity="group/of-the-audited")
        assert (await auditor.get("/v1/site/audit")).status_code == 403
    async with gateway.client() as operator:
        assert await recorded(operator, "/v1/site/audit", operation="CreateTenant")
        for path in ("/v1/site/audit", "/v1/audit"):
            assert not await records(operator, path, entity="group/of-the-audited")


async def test_no_role_of_a_service_changes_or_deletes_what_is_sealed(
    tenant: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    await tenant.post("/v1/groups", json={"name": "kept"})
    await recorded(tenant, entity="group/kept")
    urls = postgres.urls["gateway"]
    for url, refusal in (
        (urls.tenant, asyncpg.InsufficientPrivilegeError),
        (urls.system, asyncpg.InsufficientPrivilegeError),
        (urls.owner, asyncpg.RaiseError),
    ):
        connection = await asyncpg.connect(url)
        for change in ("UPDATE gateway.audit SET hash = ''", "DELETE FROM gateway.audit"):
            with pytest.raises(refusal):
                await connection.execute(change)
        await connection.close()
    connection = await asyncpg.connect(urls.tenant)
    for change in ("DELETE FROM gateway.audit_unsealed", "INSERT INTO gateway.audit DEFAULT VALUES"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(change)
    assert await connection.fetch("SELECT * FROM gateway.audit") == []
    await connection.close()


async def test_what_another_service_carries_out_is_recorded_before_it_is_asked(
    tenant: httpx.AsyncClient, others: Others
) -> None:
    rule = {"workspace": "vision", "log_retention_days": 3}
    answer = await tenant.put("/v1/retention", json=rule)
    assert answer.status_code >= 400  # Nobody answers here, and that it was tried is known.
    (tried,) = await recorded(tenant, operation="SetRetention")
    assert tried["asked"]["workspace"] == "vision" and tried["outcome"] == "allowed"
