"""The chain of the audit log: sealed once whoever seals, exported, verified, and broken where something was changed beneath."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from muster.audit import Anchor, Break, check_line, check_record
from muster.client import connect
from muster.client.models import AuditVerification
from muster.client.settings import Address
from shared.ids import DEFAULT_TENANT, SITE
from tests.integration.gateway.audited import new_tenant, recorded, records
from tests.integration.gateway.conftest import Gateway, start_replica, stop_gateway
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def tenant(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with new_tenant(gateway, "chained") as admin:
        yield admin


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
    # Records are in the order of their sealing, which need not be that of their times: a span has all between its first and its last.
    times = [datetime.fromisoformat(json.loads(line)["at"]) for line in lines]
    assert lines[2] in await asyncio.to_thread(exported, since=times[2])
    assert lines[2] not in await asyncio.to_thread(exported, until=min(times[2:]))
    (looked,) = (await recorded(tenant, operation="ExportAudit"))[-1:]
    assert looked["actor"] == "exporter"
    whole = await asyncio.to_thread(verified, end)
    assert whole.broken_at is None and whole.sequence >= end.sequence
    gone = await asyncio.to_thread(verified, Anchor(10_000, bytes(32)))
    assert gone.broken_by is not None and "records were removed" in gone.broken_by
    other = await asyncio.to_thread(verified, Anchor(2, bytes(32)))
    assert other.broken_at == 2

    # Whoever owns the database can do what no service can, and is found out.
    owner = await asyncpg.connect(postgres.urls["gateway"].owner)
    await owner.execute("ALTER TABLE gateway.audit DISABLE TRIGGER append_only, NO FORCE ROW LEVEL SECURITY")
    await owner.execute(
        "UPDATE gateway.audit SET record = replace(record::text, '127.0.0.1', '127.0.0.9')::json"
        " WHERE tenant = $1 AND sequence = 3",
        UUID(head["tenant"]),
    )
    await owner.execute("ALTER TABLE gateway.audit ENABLE TRIGGER append_only, FORCE ROW LEVEL SECURITY")
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
