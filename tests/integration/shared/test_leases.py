"""One holder at a time: real processes are killed, frozen and cut off from Postgres, and every write is looked at."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from shared.clock import SystemClock
from shared.database.engine import Database
from shared.database.leases import Lease, lease_table
from shared.settings import PostgresSettings
from tests.integration.bus.relaying import Statements
from tests.integration.servers import Servers, TestDatabase
from tests.integration.shared.lease_holder import LIFE_S
from tests.support.waiting import TIMEOUT_S, eventually

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Written:
    epoch: int
    holder: str


class Books:
    """What was written under the lease, in the order of the writes."""

    def __init__(self, database: TestDatabase) -> None:
        self._urls = database.urls["scheduler"]
        self.settings = PostgresSettings.model_validate(
            {f"{role}_url": getattr(self._urls, role) for role in ("owner", "tenant", "system")}
        )
        self.environment = {
            f"MUSTER_POSTGRES__{role.upper()}_URL": getattr(self._urls, role)
            for role in ("owner", "tenant", "system")
        }

    async def run(self, *statements: str) -> list[Written]:
        url = self._urls.owner.replace("postgresql://", "postgresql+asyncpg://", 1)
        engine = create_async_engine(url, poolclass=NullPool)
        found: list[Written] = []
        async with engine.begin() as connection:
            for statement in statements:
                result = await connection.execute(text(statement))
                found = [Written(*row) for row in result] if result.returns_rows else []
        await engine.dispose()
        return found

    async def written(self) -> list[Written]:
        return await self.run("SELECT epoch, holder FROM scheduler.writes ORDER BY id")

    async def last(self) -> Written | None:
        written = await self.written()
        return written[-1] if written else None


@pytest.fixture
async def books(postgres: TestDatabase) -> Books:
    books = Books(postgres)
    statements = Statements()
    lease_table(statements, "scheduler")
    await books.run(
        "DROP TABLE IF EXISTS scheduler.writes, scheduler.lease",
        *statements.all,
        "CREATE TABLE scheduler.writes (id bigint GENERATED ALWAYS AS IDENTITY, epoch bigint, holder text)",
        "GRANT SELECT, INSERT ON scheduler.writes TO scheduler_system",
    )
    return books


@contextlib.asynccontextmanager
async def holding(
    books: Books, name: str, life_s: float = LIFE_S
) -> AsyncIterator[asyncio.subprocess.Process]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.shared.lease_holder", name, str(life_s),
        cwd=ROOT, env={**os.environ, **books.environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGCONT)
            child.terminate()
        await child.wait()


async def writes(books: Books, holder: str, epoch: int) -> None:
    async def claim() -> bool:
        return await books.last() == Written(epoch, holder)

    await eventually(claim)


async def assert_no_epoch_returned(books: Books) -> None:
    epochs = [written.epoch for written in await books.written()]
    assert epochs == sorted(epochs)


async def test_one_of_two_holds(books: Books) -> None:
    async with holding(books, "a"):
        await writes(books, "a", 1)
        async with holding(books, "b"):
            await asyncio.sleep(1.5 * LIFE_S)
            assert await books.last() == Written(1, "a")
    await assert_no_epoch_returned(books)


async def test_a_holder_that_ends_gives_back_at_once(books: Books) -> None:
    forever_s = 100 * TIMEOUT_S
    async with holding(books, "a", forever_s) as first:
        await writes(books, "a", 1)
        async with holding(books, "b", forever_s):
            first.terminate()
            await first.wait()
            await writes(books, "b", 2)
    await assert_no_epoch_returned(books)


async def test_a_killed_holder_is_followed_when_its_lease_has_run_out(books: Books) -> None:
    async with holding(books, "a") as first:
        await writes(books, "a", 1)
        async with holding(books, "b"):
            first.kill()
            await writes(books, "b", 2)
    await assert_no_epoch_returned(books)


async def test_a_frozen_holder_is_fenced(books: Books) -> None:
    async with holding(books, "a") as first:
        await writes(books, "a", 1)
        async with holding(books, "b"):
            first.send_signal(signal.SIGUSR1)
            await writes(books, "b", 2)
            first.send_signal(signal.SIGCONT)
            await asyncio.sleep(LIFE_S)
            assert await books.last() == Written(2, "b")
    await assert_no_epoch_returned(books)


async def test_a_short_loss_of_postgres_costs_no_term(books: Books, servers: Servers) -> None:
    async with holding(books, "a"):
        await writes(books, "a", 1)
        servers.postgres.kill()
        servers.restart(servers.postgres)
        before = len(await books.written())

        async def goes_on() -> bool:
            return len(await books.written()) > before

        await eventually(goes_on)
    await assert_no_epoch_returned(books)


async def test_after_a_long_loss_of_postgres_somebody_leads_again(books: Books, servers: Servers) -> None:
    async with holding(books, "a"), holding(books, "b"):
        await eventually(books.last)
        servers.postgres.stop()
        await asyncio.sleep(1.5 * LIFE_S)
        servers.restart(servers.postgres)

        async def led_again() -> bool:
            last = await books.last()
            return last is not None and last.epoch >= 2

        await eventually(led_again)
    await assert_no_epoch_returned(books)


async def test_a_transaction_longer_than_the_lease_neither_loses_it_nor_lets_another_in(books: Books) -> None:
    clock = SystemClock()
    async with Database(books.settings, "scheduler") as database:
        mine = Lease(database, "scheduler", "test", "mine", clock, 0.9)
        other = Lease(database, "scheduler", "test", "other", clock, 0.9)
        stopping = asyncio.Event()
        held_after: list[bool] = []
        epochs: list[int] = []

        async def long_transaction(epoch: int, ended: asyncio.Event) -> None:
            async with database.system() as connection:
                await mine.guard(connection)
                await asyncio.sleep(2.5)
                held_after.append(mine.held and not ended.is_set())
                held_after.append(not epochs)
            stopping.set()

        async def waiting(epoch: int, ended: asyncio.Event) -> None:
            epochs.append(epoch)
            await ended.wait()

        standby = asyncio.Event()
        leading = asyncio.create_task(mine.lead(long_transaction, stopping))
        await eventually(lambda: mine.held)
        following = asyncio.create_task(other.lead(waiting, standby))
        await leading
        await eventually(lambda: epochs == [2])
        standby.set()
        await following
    assert held_after == [True, True]
