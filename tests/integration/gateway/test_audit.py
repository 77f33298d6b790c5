"""The audit log: what was done is recorded with it, what was refused too, and nothing of it can be changed unseen."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import grpc
import grpc.aio
import httpx
import pytest

from muster.audit import Anchor, Break, check_line, check_record
from muster.client import connect
from muster.client.models import AuditVerification
from muster.client.settings import Address
from services.gateway.operations.table import OPERATIONS
from shared.ids import DEFAULT_TENANT, SITE
from tests.integration.gateway.conftest import Gateway, Others, start_replica, stop_gateway
from tests.integration.gateway.matrix import ask_rpc
from tests.integration.gateway.seeding import CONFIG
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

SECRET = "hunter2hunter2"
ROWS = {row.name: row for row in OPERATIONS}


@pytest.fixture(scope="module")
async def tenant(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """The client of a new tenant's first admin."""
    async with gateway.client() as operator:
        made = await operator.post("/v1/tenants", json={"name": "audited"})
        assert made.status_code == 201, made.text
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


async def records(client: httpx.AsyncClient, path: str = "/v1/audit", **wanted: Any) -> list[dict[str, Any]]:
    """Newest first, over all pages."""
    found: list[dict[str, Any]] = []
    asked = wanted | {"limit": 50}
    while True:
        answer = await client.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        asked["cursor"] = page["next_cursor"]


async def recorded(client: httpx.AsyncClient, path: str = "/v1/audit", **wanted: Any) -> list[dict[str, Any]]:
    """The same, once there is one."""

    async def are() -> bool:
        return bool(await records(client, path, **wanted))

    await eventually(are)
    return await records(client, path, **wanted)


async def user(tenant: httpx.AsyncClient, name: str, role: str) -> str:
    for path, body in (
        ("/v1/users", {"name": name}),
        ("/v1/role-bindings", {"role": role, "user": name}),
    ):
        assert (await tenant.post(path, json=body)).status_code == 201
    secret: str = (await tenant.post(f"/v1/users/{name}/tokens", json={"name": name})).json()["secret"]
    return secret


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
    for change in ("DELETE FROM gateway.audit_waiting", "INSERT INTO gateway.audit DEFAULT VALUES"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(change)
    assert await connection.fetch("SELECT * FROM gateway.audit") == []
    await connection.close()


async def test_two_replicas_seal_each_record_once_and_in_one_chain(
    gateway: Gateway,
    settings: Callable[[str], dict[str, str]],
    tenant: httpx.AsyncClient,
    postgres: TestDatabase,
    tmp_path: Path,
) -> None:
    other = await start_replica(gateway, settings("gateway"), tmp_path)
    secret = tenant.headers["authorization"][7:]
    try:
        async with other.client(secret) as beside:
            for turn in range(5):
                answers = await asyncio.gather(
                    *(
                        one.post("/v1/groups", json={"name": f"chained-{turn}-{number}-{place}"})
                        for place, one in enumerate((tenant, beside))
                        for number in range(8)
                    )
                )
                assert {answer.status_code for answer in answers} == {201}
                await asyncio.sleep(0.6)
    finally:
        await stop_gateway(other)

    async def are_all() -> bool:
        made = [
            one["after"]["name"] for one in await records(tenant, operation="CreateGroup", outcome="allowed")
        ]
        return bool(sum(name.startswith("chained") for name in made) == 80)

    await eventually(are_all)
    whose = UUID((await tenant.get("/v1/me")).json()["tenant"])
    assert await chain_of(postgres, whose) > 80
    await chain_of(postgres, SITE)
    await chain_of(postgres, DEFAULT_TENANT)


async def chain_of(postgres: TestDatabase, tenant: UUID) -> int:
    """How many records the chain of a tenant has, each of which follows the one before."""
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    rows = await connection.fetch(
        "SELECT record::text, hash FROM gateway.audit WHERE tenant = $1 ORDER BY sequence", tenant
    )
    await connection.close()
    anchor = Anchor()
    for text, own in rows:
        found = check_record(anchor, text, own, str(tenant))
        assert isinstance(found, Anchor), found
        anchor = found
    return len(rows)


async def test_what_another_service_carries_out_is_recorded_before_it_is_asked(
    tenant: httpx.AsyncClient, others: Others
) -> None:
    rule = {"workspace": "vision", "log_retention_days": 3}
    answer = await tenant.put("/v1/retention", json=rule)
    assert answer.status_code >= 400  # Nobody answers here, and that it was tried is known.
    (tried,) = await recorded(tenant, operation="SetRetention")
    assert tried["asked"]["workspace"] == "vision" and tried["outcome"] == "allowed"


async def test_an_export_verifies_and_what_was_changed_beneath_is_found(
    gateway: Gateway, tenant: httpx.AsyncClient, postgres: TestDatabase, tmp_path: Path
) -> None:
    made = (await tenant.post("/v1/tokens", json={"name": "exporter", "role": "admin"})).json()
    for name in ("one", "two", "three"):
        await tenant.post("/v1/groups", json={"name": f"exported-{name}"})
    await recorded(tenant, entity="group/exported-three")
    address = Address(gateway.url, made["secret"], "a test")

    def exported(**span: Any) -> list[str]:
        with connect(address) as client:
            return [one.line for one in client.audit.export(**span)]

    def verified(anchor: Anchor | None = None) -> AuditVerification:
        with connect(address) as client:
            return client.audit.verify(anchor)

    lines = await asyncio.to_thread(exported)
    end = follow_all(lines)
    head = (await tenant.get("/v1/audit/head")).json()
    assert end.sequence >= 5 and head["sequence"] >= end.sequence
    part = await asyncio.to_thread(exported, after=2)
    assert part[: len(lines) - 2] == lines[2:]
    at = datetime.fromisoformat(json.loads(lines[2])["at"])
    assert lines[2] in await asyncio.to_thread(exported, since=at)
    assert lines[2] not in await asyncio.to_thread(exported, until=at)
    (looked,) = (await recorded(tenant, operation="ExportAudit"))[-1:]
    assert looked["actor"] == "exporter"
    whole = await asyncio.to_thread(verified, end)
    assert whole.broken_at is None and whole.sequence >= end.sequence
    gone = await asyncio.to_thread(verified, Anchor(10_000, bytes(32)))
    assert gone.broken_by is not None and "cut off" in gone.broken_by
    other = await asyncio.to_thread(verified, Anchor(2, bytes(32)))
    assert other.broken_at == 2

    # Whoever owns the database can do what no service can, and is found out.
    owner = await asyncpg.connect(postgres.urls["gateway"].owner)
    await owner.execute("ALTER TABLE gateway.audit DISABLE TRIGGER only_added, NO FORCE ROW LEVEL SECURITY")
    await owner.execute(
        "UPDATE gateway.audit SET record = replace(record::text, '127.0.0.1', '127.0.0.9')::json"
        " WHERE tenant = $1 AND sequence = 3",
        UUID(head["tenant"]),
    )
    await owner.execute("ALTER TABLE gateway.audit ENABLE TRIGGER only_added, FORCE ROW LEVEL SECURITY")
    await owner.close()
    found = await asyncio.to_thread(verified)
    assert (found.broken_at, found.sequence) == (3, 2)
    file = tmp_path / "export"
    file.write_text("\n".join(await asyncio.to_thread(exported)) + "\n")
    done = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("muster")),
        "audit",
        "verify",
        str(file),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await done.communicate()
    assert done.returncode == 3 and b"record 3 breaks the chain" in said


def follow_all(lines: list[str]) -> Anchor:
    """Where an export ends that is whole from the first record on."""
    anchor: Anchor | Break = Anchor()
    for line in lines:
        assert isinstance(anchor, Anchor)
        anchor = check_line(anchor, line)
    assert isinstance(anchor, Anchor), anchor
    return anchor
