"""Statements without a transaction around: one connection goes from view to view, and each sees and changes only what is its own."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from asyncpg import PostgresError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.bus import Units
from shared.bus.units import OutboxRow
from shared.clock import SystemClock
from shared.db import Database
from shared.ids import ExperimentId, TenantId
from shared.messages.experiments import PauseExperiment
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

ONE, OTHER = UUID(int=1), UUID(int=2)
HERE, THERE = "aa", "bb"
_QUOTA = text(
    "INSERT INTO gateway.quota (tenant, workspace, changed_at, by) VALUES (:tenant, :workspace, now(), 'x')"
)


@pytest.fixture
async def database(postgres: TestDatabase) -> AsyncIterator[Database]:
    """With one connection of each kind, and a template of each tenant, of one for two workspaces."""
    async with _database(postgres, pool_size=1) as database:
        async with database.system() as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
            for tenant, workspace in ((ONE, HERE), (ONE, THERE), (OTHER, HERE)):
                await connection.execute(_QUOTA, {"tenant": tenant, "workspace": workspace})
        yield database


async def test_each_look_sees_its_own_tenant_though_the_connection_was_anothers(database: Database) -> None:
    for tenant, expected in ((ONE, 2), (OTHER, 1), (ONE, 2), (UUID(int=3), 0)):
        async with database.looking(tenant) as connection:
            assert await _count(connection) == expected


async def test_what_narrowed_a_look_does_not_narrow_the_next(database: Database) -> None:
    for within, expected in (({"experiments": HERE}, HERE), ({}, ""), ({"models": THERE}, "")):
        async with database.looking(ONE, within) as connection:
            assert await _setting(connection, "experiments") == expected
            assert await _count(connection) == 2


async def test_a_look_changes_nothing(database: Database) -> None:
    with pytest.raises(DBAPIError, match="read-only"):
        async with database.looking(ONE) as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
    async with database.looking(ONE) as connection:
        assert await _count(connection) == 2


async def test_a_look_that_was_given_up_leaves_no_view_behind(database: Database) -> None:
    async with database.looking(ONE) as connection:
        assert await _count(connection) == 2
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), database.looking(OTHER) as connection:
            await connection.execute(text("SELECT pg_sleep(5)"))
    async with database.looking(ONE) as connection:
        assert await _count(connection) == 2


async def test_a_view_that_cannot_be_set_shows_nothing_of_the_one_before(database: Database) -> None:
    async with database.looking(ONE) as connection:
        assert await _count(connection) == 2
    with pytest.raises(ValueError, match="cannot stand"):
        async with database.looking(OTHER, {"experiments": "'; DROP"}):
            raise AssertionError("it was opened")
    async with database.looking(OTHER) as connection:
        assert await _count(connection) == 1


async def test_a_single_statement_changes_what_is_of_its_tenant_only(database: Database) -> None:
    for tenant, expected in ((ONE, 2), (OTHER, 1), (ONE, 2)):
        async with database.saying(tenant) as connection:
            changed = await connection.execute(text("UPDATE gateway.quota SET by = 'said'"))
            assert changed.rowcount == expected
    with pytest.raises(DBAPIError, match="row-level security"):
        async with database.saying(ONE) as connection:
            await connection.execute(_QUOTA, {"tenant": OTHER, "workspace": THERE})


class Hands:
    """What a relay would publish."""

    def __init__(self) -> None:
        self.rows: list[OutboxRow] = []

    def hand_over(self, rows: list[OutboxRow]) -> None:
        self.rows.extend(rows)


async def test_a_word_is_handed_over_once_it_stands_and_stands_whole_or_not_at_all(
    database: Database,
) -> None:
    hands = Hands()
    units = Units(database, hands, "gateway", SystemClock())
    command = PauseExperiment(operation_id=UUID(int=7), experiment_id=ExperimentId(UUID(int=8)))
    for tenant, stands in ((ONE, True), (OTHER, False)):
        try:
            async with units.word(TenantId(ONE)) as word:
                word.emit(command)
                word.alongside(
                    "INSERT INTO gateway.quota (tenant, workspace, changed_at, by) VALUES ($1, 'cc', now(), 'x')",
                    tenant,
                )
                assert not hands.rows
        except PostgresError:
            assert not stands
        async with database.system() as connection:
            stored = await connection.scalars(
                text("SELECT id FROM gateway.outbox WHERE tenant = :one"), {"one": ONE}
            )
        assert [row.id for row in hands.rows] == list(stored)
        assert len(hands.rows) == int(stands)
        hands.rows.clear()
        async with database.system() as connection:
            await connection.execute(text("DELETE FROM gateway.outbox WHERE tenant = :one"), {"one": ONE})


async def test_a_connection_that_was_lost_is_made_anew_with_its_view(database: Database) -> None:
    async with database.looking(ONE) as connection:
        own = await _backend(connection)
    async with database.looking(ONE) as connection:
        with pytest.raises(DBAPIError):
            await connection.execute(text(f"SELECT pg_terminate_backend({own}), pg_sleep(5)"))
    async with database.looking(ONE) as connection:
        assert await _count(connection) == 2


async def test_the_connections_of_a_peak_serve_the_next(postgres: TestDatabase) -> None:
    async with _database(postgres, pool_size=3) as database:

        async def backend(together: asyncio.Barrier) -> int:
            async with database.looking(ONE) as connection:
                await together.wait()
                return await _backend(connection)

        async def peak() -> set[int]:
            together = asyncio.Barrier(3)
            return set(await asyncio.gather(*(backend(together) for _ in range(3))))

        first = await peak()
        assert len(first) == 3
        assert await peak() == first


async def test_tenants_that_take_turns_find_the_connections_that_were_told_of_them(
    postgres: TestDatabase,
) -> None:
    third = UUID(int=3)
    async with _database(postgres, pool_size=2) as database:

        async def backend(tenant: UUID) -> int:
            async with database.looking(tenant) as connection:
                return await _backend(connection)

        backends = {tenant: await backend(tenant) for tenant in (ONE, OTHER)}
        assert len(set(backends.values())) == 2
        for tenant in (ONE, OTHER, OTHER, ONE):
            assert await backend(tenant) == backends[tenant]
        assert await backend(third) == backends[OTHER]  # which has rested longest


async def test_who_finds_all_connections_lent_waits_for_one(postgres: TestDatabase) -> None:
    async with _database(postgres, pool_size=1) as database:
        async with database.looking(ONE):
            waiting = asyncio.create_task(_look(database))
            await asyncio.sleep(0.05)
            assert not waiting.done()
        async with asyncio.timeout(5):
            await waiting


async def test_a_connection_that_comes_back_after_the_end_is_ended(postgres: TestDatabase) -> None:
    database = _database(postgres, pool_size=1)
    async with database.looking(ONE) as connection:
        backend = await _backend(connection)
        await database.close()
    async with _database(postgres, pool_size=1) as another, another.system() as connection:
        there = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")

        async def is_gone() -> bool:
            return int(await connection.scalar(there, {"pid": backend}) or 0) == 0

        await eventually(is_gone)


def _database(postgres: TestDatabase, pool_size: int) -> Database:
    urls = postgres.urls["gateway"]
    addresses = {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
    return Database(PostgresSettings(pool_size=pool_size, **addresses), "gateway")


async def _look(database: Database) -> None:
    async with database.looking(ONE) as connection:
        await _count(connection)


async def _backend(connection: AsyncConnection) -> int:
    return int(await connection.scalar(text("SELECT pg_backend_pid()")) or 0)


async def _count(connection: AsyncConnection) -> int:
    found: int = (await connection.execute(text("SELECT count(*) FROM gateway.quota"))).scalar_one()
    return found


async def _setting(connection: AsyncConnection, name: str) -> str:
    found = await connection.execute(text(f"SELECT coalesce(current_setting('muster.{name}', true), '')"))
    return str(found.scalar_one())
