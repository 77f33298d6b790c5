"""One platform's database on a Postgres server that others use too: set up, refused to another platform, rotated, taken over."""

from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest

from deploy.postgres.setup import drop_database, load_owner, set_passwords, set_up_database, take_over
from deploy.postgres.urls import PlatformDatabase, role_names
from muster.errors import Conflict, Rejected
from tests.integration.servers import Servers

NAME = "muster_shared"


def passwords(word: str) -> dict[str, str]:
    return {role: f"{word}-{role}" for role in role_names()}


@pytest.fixture
async def first(servers: Servers) -> AsyncIterator[PlatformDatabase]:
    wanted = PlatformDatabase(servers.postgres.administrator_url, "first", passwords("first"), NAME)
    await set_up_database(wanted)
    yield wanted
    await drop_database(wanted.administrator_url, NAME)


async def role_of(url: str) -> str:
    """Who a session is that begins at this address."""
    session = await asyncpg.connect(url)
    try:
        return str(await session.fetchval("SELECT current_user"))
    finally:
        await session.close()


async def test_setting_up_again_changes_nothing(first: PlatformDatabase) -> None:
    await set_up_database(first)
    assert await role_of(first.urls["gateway"].owner) == "gateway_owner"


async def test_a_second_platform_is_refused_and_the_first_still_gets_in(first: PlatformDatabase) -> None:
    second = replace(first, platform="second", passwords=passwords("second"))
    for refused in (set_up_database(second), set_passwords(second, second.passwords)):
        with pytest.raises(Conflict) as error:
            await refused
        assert error.value.code == "database_taken"
        for told in (NAME, "MUSTER_POSTGRES__DATABASE", "MUSTER_HOME", "take-over"):
            assert told in str(error.value)
    assert await role_of(first.urls["registry"].tenant) == "registry_tenant"


async def test_two_platforms_share_a_server_with_a_database_each(first: PlatformDatabase) -> None:
    second = replace(first, platform="second", passwords=passwords("second"), name=f"{NAME}_too")
    await set_up_database(second)
    try:
        for one in (first, second):
            assert await role_of(one.urls["scheduler"].system) == "scheduler_system"
        into_the_firsts = second.urls["scheduler"].owner.replace(f"/{second.name}?", f"/{first.name}?")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await asyncpg.connect(into_the_firsts)
    finally:
        await drop_database(second.administrator_url, second.name)


async def test_a_login_has_no_more_than_its_role(first: PlatformDatabase) -> None:
    session = await asyncpg.connect(first.urls["gateway"].tenant)
    try:
        await session.execute("SET ROLE NONE")
        for forbidden in (
            "CREATE TABLE gateway.probe (n int)",
            "SET ROLE gateway_owner",
            "CREATE SCHEMA own",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await session.execute(forbidden)
    finally:
        await session.close()


async def test_passwords_that_differ_are_told_and_kept(first: PlatformDatabase) -> None:
    with pytest.raises(Conflict, match="muster database rotate"):
        await set_up_database(replace(first, passwords=passwords("lost")))
    assert await role_of(first.urls["gateway"].system) == "gateway_system"


async def test_a_password_is_rotated_by_itself(first: PlatformDatabase) -> None:
    fresh = {role: f"fresh-{role}" for role in role_names("gateway")}
    await set_passwords(first, fresh)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(first.urls["gateway"].owner)
    now = replace(first, passwords={**first.passwords, **fresh})
    await set_up_database(now)
    for service in ("gateway", "searcher"):
        assert await role_of(now.urls[service].owner) == f"{service}_owner"


async def test_a_rotation_neither_creates_nor_claims_a_database(first: PlatformDatabase) -> None:
    missing = replace(first, name=f"{NAME}_missing")
    for _ in range(2):
        with pytest.raises(Rejected) as no_database:
            await set_passwords(missing, missing.passwords)
        assert no_database.value.code == "no_database"
    server = await asyncpg.connect(first.administrator_url)
    await server.execute(f"CREATE DATABASE {missing.name}")
    try:
        for _ in range(2):
            with pytest.raises(Conflict) as unclaimed:
                await set_passwords(missing, missing.passwords)
            assert unclaimed.value.code == "database_unclaimed"
        assert await load_owner(missing) is None
    finally:
        await server.execute(f"DROP DATABASE {missing.name}")
        await server.close()


async def test_a_database_is_taken_over_on_purpose(first: PlatformDatabase) -> None:
    second = replace(first, platform="second-of-two", passwords=passwords("second"))
    await take_over(second)
    assert await load_owner(first) == second.platform
    await set_up_database(second)
    assert await role_of(second.urls["gateway"].owner) == "gateway_owner"
    with pytest.raises(Conflict):
        await set_up_database(first)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(first.urls["gateway"].owner)
    with pytest.raises(Rejected, match="has no database muster_nowhere"):
        await take_over(replace(second, name="muster_nowhere"))


@pytest.mark.parametrize("name", ["", "Muster", "1st", 'a"b', "a" * 42])
async def test_a_name_that_postgres_would_read_as_another_is_refused(name: str) -> None:
    with pytest.raises(Rejected, match="MUSTER_POSTGRES__DATABASE"):
        await set_up_database(PlatformDatabase("postgresql://nowhere", "x", passwords("x"), name))


async def test_an_administrator_needs_no_superuser(servers: Servers) -> None:
    """As on a managed server: a role that may create databases and roles."""
    superuser = await asyncpg.connect(servers.postgres.administrator_url)
    # Roles of the server that another administrator made cannot be granted by this one.
    grants = "; ".join(f"GRANT {role} TO keeper WITH ADMIN OPTION" for role in role_names())
    await superuser.execute(f"CREATE ROLE keeper LOGIN CREATEDB CREATEROLE PASSWORD 'k'; {grants}")
    url = servers.postgres.url("keeper", "k", "postgres")
    wanted = PlatformDatabase(url, "managed", passwords("managed"), "muster_managed")
    try:
        await set_up_database(wanted)
        await set_up_database(wanted)
        assert await role_of(wanted.urls["registry"].owner) == "registry_owner"
    finally:
        await drop_database(servers.postgres.administrator_url, wanted.name)
        await superuser.execute("DROP OWNED BY keeper CASCADE")
        await superuser.execute("DROP ROLE keeper")
        await superuser.close()
