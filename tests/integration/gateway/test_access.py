"""Tokens, and what of a tenant lies in the database. Who may do what: `test_isolation`, `test_roles`."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import Seeded, add_token, make_tenant, seed
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def seeded(gateway: Gateway, others: Others) -> Seeded:
    async with gateway.client() as api:
        return await seed(api, others)


@pytest.fixture(scope="module")
async def foreign(gateway: Gateway, postgres: TestDatabase) -> str:
    return (await make_tenant(postgres.urls["gateway"].system, gateway.directory, "foreign"))[1]


async def test_lists_and_streams_of_a_foreign_tenant_are_empty(
    gateway: Gateway, seeded: Seeded, foreign: str
) -> None:
    async with gateway.client(foreign) as api:
        for path in ("/v1/experiments", "/v1/models"):
            assert (await api.get(path)).json()["items"] == []
        async with api.stream("GET", "/v1/events", params={"after": "0"}) as stream:
            assert stream.status_code == 200
            first = await anext(stream.aiter_lines())
            assert first == "id: 0"


async def test_expired_and_revoked_tokens_are_refused(gateway: Gateway, postgres: TestDatabase) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    system = postgres.urls["gateway"].system
    old = await add_token(system, gateway.directory, DEFAULT_TENANT, "admin", "old", past)
    async with gateway.client(old) as api:
        assert (await api.get("/v1/me")).status_code == 401
    async with gateway.client() as admin:
        made = (await admin.post("/v1/tokens", json={"name": "ci", "role": "editor"})).json()
        async with gateway.client(made["secret"]) as api:
            me = (await api.get("/v1/me")).json()
            assert me["role"] == "editor" and "token.manage" not in me["permissions"]
            revoked = await admin.delete(f"/v1/tokens/{made['id']}")
            assert revoked.json()["revoked_at"] is not None and "secret" not in revoked.json()

            async def refused() -> bool:
                return (await api.get("/v1/me")).status_code == 401

            await eventually(refused)
        listed = (await admin.get("/v1/tokens")).text
        assert made["id"] in listed and made["secret"] not in listed


async def test_secrets_are_stored_as_hashes_and_logged_nowhere(
    gateway: Gateway, postgres: TestDatabase
) -> None:
    import asyncpg

    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    rows = await connection.fetch("SELECT row_to_json(token)::text FROM gateway.token")
    await connection.close()
    assert rows and all("mst_" not in row[0] for row in rows)
    assert gateway.admin_token not in gateway.log.read_text()
    for name in ("admin.token", "gateway.pepper"):
        assert (gateway.directory / name).stat().st_mode & 0o777 == 0o600


async def test_every_tenant_table_is_under_forced_row_level_security(
    gateway: Gateway, postgres: TestDatabase
) -> None:
    import asyncpg

    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    rows = await connection.fetch(
        "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'"
        " WHERE c.relnamespace = 'gateway'::regnamespace AND c.relkind = 'r'"
    )
    await connection.close()
    assert len(rows) >= 11 and all(forced for _, forced in rows)
    tenant = await asyncpg.connect(postgres.urls["gateway"].tenant)
    assert await tenant.fetch("SELECT * FROM gateway.experiment") == []
    await tenant.close()
