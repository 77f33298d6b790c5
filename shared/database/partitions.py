"""Daily range partitions: created ahead, dropped when old. Planning is pure; `Partitions` runs it in a loop.

A partitioned table has a column `day date`; the partition of a day is named `<table>_p20261121`. Old rows are removed by dropping
partitions: no DELETE, no vacuum. A service does not own its tables: it creates and drops partitions by two functions of the schema.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Text, cast, func, select
from sqlalchemy.dialects.postgresql.pg_catalog import pg_class, pg_inherits
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.clock import Clock
from shared.database.engine import Database
from shared.runtime.loops import repeat

AHEAD_DAYS = 3
EVERY = timedelta(hours=1)
_LOCK = 7_240_511
"""Advisory lock: replicas run one after the other, and the later one finds nothing to do."""
_FIRST_DAY = "2020-01-01"
"""No partition is older. It also excludes infinity and dates B.C., which `to_char` writes like others."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A table with daily partitions.

    Attributes:
        keep: Age at which a day is dropped; None keeps all.
    """

    schema: str
    table: str
    keep: timedelta | None = None


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


def partition_functions(op: Any, schema: str, tables: Sequence[str], writer: str, caller: str) -> None:
    """In a migration: create `create_partition(parent, day)` and `drop_partition(parent, day)`, which run as the schema's owner.

    They accept only these tables, days from two days ago to a week ahead for creating, and days before yesterday for dropping:
    the smallest retention that a setting allows.

    Args:
        writer: Role that may insert into partitions directly (COPY is rejected on a parent under row-level security).
        caller: The only role that may call them.
    """
    listed = ", ".join(f"'{table}'" for table in tables)
    today = "(now() AT TIME ZONE 'UTC')::date"
    head = f"""(parent text, day date) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        DECLARE part text := parent || '_p' || to_char(day, 'YYYYMMDD');
        BEGIN
            IF parent IS NULL OR parent NOT IN ({listed}) THEN
                RAISE EXCEPTION '%.% has no daily partitions', '{schema}', parent USING ERRCODE = 'insufficient_privilege';
            END IF;"""
    op.execute(f"""CREATE FUNCTION {schema}.create_partition{head}
            IF day IS NULL OR day NOT BETWEEN {today} - 2 AND {today} + 7 THEN
                RAISE EXCEPTION 'a partition of % is created two days ago to a week ahead of its day, not for %', parent, day
                    USING ERRCODE = 'insufficient_privilege';
            END IF;
            EXECUTE format('CREATE TABLE {schema}.%I PARTITION OF {schema}.%I FOR VALUES FROM (%L) TO (%L)', part, parent, day, day + 1);
            EXECUTE format('GRANT INSERT ON {schema}.%I TO {writer}', part);
        END $$""")
    op.execute(f"""CREATE FUNCTION {schema}.drop_partition{head}
            IF day IS NULL OR day NOT BETWEEN DATE '{_FIRST_DAY}' AND {today} - 2 THEN
                RAISE EXCEPTION 'a partition of % is dropped two days after its day at the earliest, not for %', parent, day
                    USING ERRCODE = 'insufficient_privilege';
            END IF;
            EXECUTE format('DROP TABLE {schema}.%I', part);
        END $$""")
    for name in ("create_partition", "drop_partition"):
        op.execute(f"REVOKE ALL ON FUNCTION {schema}.{name}(text, date) FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {schema}.{name}(text, date) TO {caller}")


async def apply_partitions(connection: AsyncConnection, table: Partitioned, today: date) -> PartitionPlan:
    """Create and drop one table's partitions within the caller's transaction, which runs as the functions' caller."""
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    plan = plan_partitions(await load_days(connection, table), today, table.keep)
    functions = getattr(func, table.schema)
    for day in plan.make:
        await connection.execute(select(functions.create_partition(table.table, day)))
    for day in plan.drop:
        await connection.execute(select(functions.drop_partition(table.table, day)))
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
    """Maintains a service's partitions in the loop `run`."""

    def __init__(self, database: Database, tables: Sequence[Partitioned], clock: Clock) -> None:
        self._database = database
        self._tables = tables
        self._clock = clock

    async def apply(self) -> None:
        """Create and drop partitions as of today. Raises Transient while Postgres is unavailable."""
        for table in self._tables:
            async with self._database.system() as connection:
                await apply_partitions(connection, table, self._clock.now().date())

    async def run(self) -> None:
        """Apply every hour. Partitions created days ahead cover outages."""
        await repeat(self.apply, EVERY)
