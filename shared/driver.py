"""The one door to asyncpg beneath SQLAlchemy: arrays, COPY and hot statements at a fifth of the processor time.

Neighbours: shared.db opens the transactions; services use this in their `store` only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.errors import Rejected

Row = Mapping[str, Any]


class Found:
    """A row whose columns are attributes."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)

    if TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any: ...


class Driver:
    """asyncpg's connection inside a transaction that shared.db has opened."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def of(cls, connection: AsyncConnection) -> "Driver":
        """Return the driver of an open transaction's connection."""
        return cls(driver_of(connection))

    async def fetch(self, sql: str, *arguments: object) -> Sequence[Row]:
        """Run a prepared statement and return its rows; JSON is given as text, and comes decoded."""
        with _storable():
            rows: Sequence[Row] = await self._connection.fetch(sql, *arguments)
        return rows

    async def find(self, sql: str, *arguments: object) -> Found | None:
        """As `fetch`, for a statement that returns one row at most."""
        rows = await self.fetch(sql, *arguments)
        return Found(rows[0]) if rows else None

    async def run(self, sql: str, *arguments: object) -> int:
        """Run a statement that returns no rows, and return how many it affected."""
        with _storable():
            said: str = await self._connection.execute(sql, *arguments)
        return int(said.rsplit(" ", 1)[-1])

    async def copy(
        self, table: str, schema: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """COPY rows into a table on which the role may insert."""
        with _storable():
            await self._connection.copy_records_to_table(
                table, schema_name=schema, columns=list(columns), records=rows
            )


def driver_of(connection: AsyncConnection) -> Any:
    """asyncpg's own connection, of one that is open: unlike `get_raw_connection` without a greenlet, which costs as a statement does."""
    return connection.sync_connection.connection.driver_connection  # type: ignore[union-attr]


def text_of(statement: Select[Any], is_whole: bool = False) -> str:
    """The statement as the driver takes it, with its parameters in the order in which they stand there.

    Args:
        is_whole: its values stand in the text: numbers and truth values of our own only.
    """
    dialect, kinds = asyncpg_dialect(), {"literal_binds": True} if is_whole else {}  # type: ignore[no-untyped-call]
    return str(statement.compile(dialect=dialect, compile_kwargs=kinds))


@contextmanager
def _storable() -> Iterator[None]:
    """What the data itself is to blame for is Rejected; the rest is the transaction's to translate."""
    try:
        yield
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise Rejected("unstorable", f"Postgres cannot store this: {error}") from error
