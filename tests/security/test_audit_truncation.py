"""Attack: a service's credentials are used to become the owner of the audit log, delete its records, and drop partitions early.

Then the attack of an administrator of the database, which no credential of a service allows: verification must detect it.
"""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import httpx
import pytest
from minio import Minio

from deploy.embedded.servers.s3 import AUDIT_BUCKET
from deploy.postgres.urls import SERVICES, login_name, on_database
from muster.audit import Anchor, find_anchors
from services.gateway.platform.audit.records import seal_all
from tests.integration.gateway.audited import new_tenant, recorded
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually

TODAY = f"{datetime.now(UTC):%Y%m%d}"
CHANGES = (
    "ALTER TABLE gateway.audit DISABLE TRIGGER ALL",
    "ALTER TABLE gateway.audit DISABLE TRIGGER append_only",
    "DROP TRIGGER append_only ON gateway.audit",
    "DROP FUNCTION gateway.reject_audit_change() CASCADE",
    "CREATE OR REPLACE FUNCTION gateway.reject_audit_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE RULE hide AS ON INSERT TO gateway.audit DO INSTEAD NOTHING",
    "SET session_replication_role = replica",
    "ALTER TABLE gateway.audit DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE gateway.audit NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY tenant_isolation ON gateway.audit",
    "CREATE POLICY everything ON gateway.audit USING (true)",
    "DELETE FROM gateway.audit",
    "UPDATE gateway.audit SET hash = ''",
    "TRUNCATE gateway.audit",
    "DROP TABLE gateway.audit",
    "ALTER TABLE gateway.audit RENAME TO aside",
    "DROP SCHEMA gateway CASCADE",
    "CREATE TABLE gateway.mine (n int)",
    "SET ROLE gateway_owner",
    "SET ROLE registry_owner",
    "SET SESSION AUTHORIZATION gateway_owner",
    "ALTER ROLE gateway_owner PASSWORD 'mine'",
    f"DROP TABLE registry.point_chunk_p{TODAY}",
    f"ALTER TABLE registry.point_chunk DETACH PARTITION registry.point_chunk_p{TODAY}",
    f"TRUNCATE registry.point_chunk_p{TODAY}",
    "SELECT registry.drop_partition('point_chunk', current_date)",
    "SELECT registry.drop_partition('log_chunk', current_date - 1)",
    "SELECT registry.drop_partition('point_chunk\" CASCADE; --', current_date - 9)",
)


@pytest.fixture(scope="module")
def credentials(servers: Servers, postgres: TestDatabase) -> dict[str, str]:
    """The database logins in the settings of all running services, by name."""
    values = [value for name in SERVICES for value in servers.environment(name, postgres).values()]
    return {urlsplit(url).username or "": url for url in values if url.startswith("postgresql://")}


@pytest.fixture(scope="module", autouse=True)
async def partitions(postgres: TestDatabase) -> None:
    """Partitions of today, which must stay."""
    owner = await asyncpg.connect(postgres.urls["registry"].owner)
    for table in ("point_chunk", "log_chunk"):
        await owner.execute(
            f"CREATE TABLE registry.{table}_p{TODAY} PARTITION OF registry.{table}"
            f" FOR VALUES FROM ('{TODAY}') TO ('{TODAY}'::date + 1)"
        )
    await owner.close()


def test_no_service_is_given_an_owners_login(
    credentials: dict[str, str], servers: Servers, postgres: TestDatabase
) -> None:
    assert set(credentials) == {
        login_name(postgres.name, f"{service}_{kind}")
        for service in SERVICES
        for kind in ("tenant", "system")
    }
    secrets = [urlsplit(urls.owner).password or "" for urls in postgres.urls.values()]
    for service in SERVICES:
        text = "\n".join(servers.environment(service, postgres).values())
        assert not [secret for secret in secrets if secret in text]


@pytest.mark.parametrize("change", CHANGES)
async def test_no_login_of_a_service_can(
    change: str, credentials: dict[str, str], postgres: TestDatabase
) -> None:
    succeeded = []
    for name, url in credentials.items():
        connection = await asyncpg.connect(url)
        try:
            for before in ("SELECT 1", "RESET ROLE"):
                attempt = connection.transaction()
                await attempt.start()
                try:
                    await connection.execute(before)
                    await connection.execute(change)
                    succeeded.append(f"{name}: {before} {change}")
                except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError):
                    pass
                finally:
                    await attempt.rollback()
        finally:
            await connection.close()
    assert not succeeded


@dataclass
class Audited:
    """A tenant whose log has records, the newest of them anchored."""

    admin: httpx.AsyncClient
    id: UUID
    head: Anchor

    async def verify(self) -> dict[str, Any]:
        answer = await self.admin.get("/v1/audit/verification")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def is_anchored(self) -> bool:
        answer = await self.admin.get("/v1/audit/verification")
        return answer.status_code == 200 and (answer.json()["anchors"] or 0) >= 1

    async def change(self, *names: str) -> None:
        for name in names:
            assert (await self.admin.post("/v1/groups", json={"name": name})).status_code == 201
            await recorded(self.admin, entity=f"group/{name}")


@pytest.fixture(scope="module")
async def anchored(
    servers: Servers,
    settings: Callable[[str], dict[str, str]],
    others: Others,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Gateway, dict[str, Audited]]]:
    """Tenants with anchored logs. A gateway anchors when it starts, then every minute."""
    folder = tmp_path_factory.mktemp("anchored")
    environment = settings("gateway") | audit_store(servers) | {"MUSTER_TELEMETRY__DIRECTORY": str(folder)}
    gateway = await start_gateway(environment, folder)
    secrets: dict[str, str] = {}
    for name in ("cut", "regrown", "rebuilt", "emptied"):
        async with new_tenant(gateway, name) as admin:
            secrets[name] = admin.headers["Authorization"].removeprefix("Bearer ")
            for number in range(6):
                await admin.post("/v1/groups", json={"name": f"g{number}"})
            await recorded(admin, entity="group/g5")
    await stop_gateway(gateway)
    gateway = await start_gateway(environment, folder)
    tenants = {}
    for name, secret in secrets.items():
        admin = gateway.client(secret)
        head = (await admin.get("/v1/audit/head")).json()
        tenants[name] = Audited(
            admin, UUID(head["tenant"]), Anchor.parse(f"{head['sequence']}:{head['hash']}")
        )
        await eventually(tenants[name].is_anchored)
    yield gateway, tenants
    for one in tenants.values():
        await one.admin.aclose()
    await stop_gateway(gateway)


@pytest.fixture
async def administrator(postgres: TestDatabase) -> AsyncIterator[Any]:
    """An administrator of the database, who has switched off what protects the log."""
    connection = await asyncpg.connect(on_database(postgres.administrator_url, postgres.name))
    await connection.execute("ALTER TABLE gateway.audit DISABLE TRIGGER ALL")
    yield connection
    await connection.close()


async def test_the_newest_records_are_deleted(
    anchored: tuple[Gateway, dict[str, Audited]], administrator: Any
) -> None:
    one = anchored[1]["cut"]
    assert (await one.verify())["broken_at"] is None
    await administrator.execute(
        "DELETE FROM gateway.audit WHERE tenant = $1 AND sequence > $2", one.id, one.head.sequence - 3
    )
    found = await one.verify()
    assert found["complete"] and found["broken_at"] == one.head.sequence - 2
    assert "records were removed" in found["broken_by"] and str(one.head) in found["broken_by"]
    assert found["broken_anchor"] == anchor_object(one)


async def test_records_are_deleted_and_new_ones_take_their_place(
    anchored: tuple[Gateway, dict[str, Audited]], administrator: Any
) -> None:
    one = anchored[1]["regrown"]
    await administrator.execute(
        "DELETE FROM gateway.audit WHERE tenant = $1 AND sequence > $2", one.id, one.head.sequence - 3
    )
    await one.change("new0", "new1", "new2", "new3")
    found = await one.verify()
    assert found["broken_at"] == one.head.sequence and "rewritten" in found["broken_by"]
    assert found["broken_anchor"] == anchor_object(one)


async def test_the_whole_chain_is_rebuilt(
    anchored: tuple[Gateway, dict[str, Audited]], administrator: Any
) -> None:
    one = anchored[1]["rebuilt"]
    rows = await administrator.fetch(
        "DELETE FROM gateway.audit WHERE tenant = $1 RETURNING sequence, record::text, sealed_at", one.id
    )
    texts = [row["record"].replace("g3", "xx") for row in sorted(rows, key=lambda row: row["sequence"])]
    unsealed = [text.replace(f'"sequence":{number}', '"sequence":0') for number, text in enumerate(texts, 1)]
    for sequence, text, own in seal_all(Anchor(), unsealed):
        await administrator.execute(
            "INSERT INTO gateway.audit (tenant, sequence, record, hash, sealed_at) VALUES ($1, $2, $3, $4, now())",
            *(one.id, sequence, text, own),
        )
    found = await one.verify()
    assert found["broken_at"] == one.head.sequence and "rewritten" in found["broken_by"]
    assert found["broken_anchor"] == anchor_object(one)


async def test_all_of_it_is_deleted_and_its_anchor_hidden(
    anchored: tuple[Gateway, dict[str, Audited]], administrator: Any, servers: Servers
) -> None:
    one = anchored[1]["emptied"]
    await administrator.execute("DELETE FROM gateway.audit WHERE tenant = $1", one.id)
    s3 = servers.s3
    # Without a version, deleting only hides the object, and whoever has the gateway's key may do that.
    client = Minio(s3.url.removeprefix("http://"), *s3.audit, secure=False, region="us-east-1")
    client.remove_object(AUDIT_BUCKET, anchor_object(one).removeprefix(f"s3://{AUDIT_BUCKET}/"))
    assert not list(client.list_objects(AUDIT_BUCKET, f"anchors/{one.id}/"))
    found = await one.verify()
    assert found["sequence"] == 0 and found["broken_at"] == 1
    assert found["broken_anchor"] == anchor_object(one)


async def test_the_anchors_are_spans_too(anchored: tuple[Gateway, dict[str, Audited]]) -> None:
    gateway, tenants = anchored

    async def are_there() -> bool:
        lines = [line for file in gateway.directory.glob("*.jsonl") for line in file.read_text().splitlines()]
        named = {json.loads(line)["name"] for line in lines if "anchor" in line}
        return named >= {"anchor audit log"} and all(
            one.head in find_anchors(lines, str(one.id)) for one in tenants.values()
        )

    await eventually(are_there)


def anchor_object(one: Audited) -> str:
    return f"s3://{AUDIT_BUCKET}/anchors/{one.id}/{one.head.sequence:020d}-{one.head.hash.hex()}"


def audit_store(servers: Servers) -> dict[str, str]:
    s3 = servers.s3
    return {
        f"MUSTER_GATEWAY__AUDIT_STORE__{name}": value
        for name, value in zip(
            ("URL", "ACCESS_KEY", "SECRET_KEY", "BUCKET"), (s3.url, *s3.audit, AUDIT_BUCKET), strict=True
        )
    }
