"""Attack: a service's credentials are used to become the owner of the audit log, delete its records, and drop partitions early.

Then the attack of an administrator of the database, which no credential of a service allows: verification must detect it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import asyncpg
import pytest

from deploy.postgres.urls import SERVICES, login_name
from tests.integration.servers import Servers, TestDatabase

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
def credentials(servers: Servers, postgres: TestDatabase) -> Iterator[dict[str, str]]:
    """The database logins in the settings of all running services, by name."""
    values = [value for name in SERVICES for value in servers.environment(name, postgres).values()]
    yield {urlsplit(url).username or "": url for url in values if url.startswith("postgresql://")}


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
        login_name(postgres.name, f"{service}_{kind}") for service in SERVICES for kind in ("tenant", "system")
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
