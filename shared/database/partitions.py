"""Daily range partitions: created ahead, dropped when old. Planning is pure; `Partitions` runs it in a loop.

A partitioned table has a column `day date`; the partition of a day is named `<table>_p20261121`. Old rows are removed by dropping
partitions: no DELETE, no vacuum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.dialects.postgresql.pg_catalog import pg_class, pg_inherits
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from shared.clock import Clock
from shared.database.engine import driver_url, translated
from shared.runtime.loops import repeat
from shared.settings import PostgresSettings

AHEAD_DAYS = 3
EVERY = timedelta(hours=1)
_LOCK = 7_240_511
"""Advisory lock: replicas run one after the other, and the later one finds nothing to do."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A table with daily partitions.

    Attributes:
        keep: Age at which a day is dropped; None keeps all.
        writers: Roles that may insert into partitions directly (COPY is rejected on a parent under row-level security).
    """

    schema: str
    table: str
    keep: timedelta | None = None
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """Days whose partition is to be created, and days whose partition is to be dropped, both ascending."""

    make: tuple[date, ...] = ()
    drop: tuple[date, ...] = ()


def plan_partitions(
    existing: Iterable[date],
    today: date,
    keep: timedelta | None,
    ahead_days: int = AHEAD_DAYS,
) -> PartitionPlan:
    """Plan partitions from yesterday (a transaction may begin before midnight) to `ahead_days` from today.

    A day is dropped if it lies completely before `today - keep`; days of the planned range are never dropped.
    """
    present = set(existing)
    wanted = {today + timedelta(days=offset) for offset in range(-1, ahead_days + 1)}
    oldest = today - keep if keep is not None else None
    old = {day for day in present if oldest is not None and day < oldest} - wanted
    return PartitionPlan(tuple(sorted(wanted - present)), tuple(sorted(old)))


def partition_name(table: str, day: date) -> str:
    """Return the name of the day's partition."""
    return f"{table}_p{day:%Y%m%d}"


def partition_day(table: str, name: str) -> date | None:
    """Return the day of a partition by its name; None if the name has another format."""
    prefix, _, digits = name.rpartition("_p")
    if prefix != table or len(digits) != 8 or not digits.isdigit():
        return None
    return date.fromisoformat(digits)


async def apply_partitions(connection: AsyncConnection, table: Partitioned, today: date) -> PartitionPlan:
    """Create and drop one table's partitions within the caller's transaction, which runs as the schema's owner."""
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    plan = plan_partitions(await load_days(connection, table), today, table.keep)
    for day in plan.make:
        for statement in _making(table, day):
            await connection.execute(text(statement))
    for day in plan.drop:
        await connection.execute(text(f'DROP TABLE "{table.schema}"."{partition_name(table.table, day)}"'))
    return plan


async def load_days(connection: AsyncConnection, table: Partitioned) -> list[date]:
    """Return the days that have a partition."""
    parent = func.to_regclass(f'"{table.schema}"."{table.table}"')
    query = (
        select(cast(pg_class.c.relname, Text))
        .join(pg_inherits, pg_inherits.c.inhrelid == pg_class.c.oid)
        .where(pg_inherits.c.inhparent == parent)
    )
    days = (partition_day(table.table, name) for name in await connection.scalars(query))
    return sorted(day for day in days if day is not None)


class Partitions:
    """Maintains a service's partitions under its owner role: once on entering, then in the loop `run`."""

    def __init__(self, settings: PostgresSettings, tables: Sequence[Partitioned], clock: Clock) -> None:
        self._engine = create_async_engine(
            driver_url(settings.owner_url.get_secret_value()), poolclass=NullPool
        )
        self._tables = tables
        self._clock = clock

    async def __aenter__(self) -> "Partitions":
        await self.apply()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.dispose()

    async def apply(self) -> None:
        """Create and drop partitions as of today. Raises Transient while Postgres is unavailable."""
        for table in self._tables:
            async with translated(), self._engine.begin() as connection:
                await apply_partitions(connection, table, self._clock.now().date())

    async def run(self) -> None:
        """Apply every hour. Partitions created days ahead cover outages."""
        await repeat(self.apply, EVERY)


def _making(table: Partitioned, day: date) -> list[str]:
    """Return the SQL of one partition. Names come from code and digits, never from users."""
    name = f'"{table.schema}"."{partition_name(table.table, day)}"'
    making = (
        f'CREATE TABLE {name} PARTITION OF "{table.schema}"."{table.table}" '
        f"FOR VALUES FROM ('{day:%Y-%m-%d}') TO ('{day + timedelta(days=1):%Y-%m-%d}')"
    )
    return [making, *(f'GRANT INSERT ON {name} TO "{role}"' for role in table.writers)]
