"""asyncpg beneath SQLAlchemy, for hot paths: storing and reading points, saving a scheduling cycle, outbox and inbox. All else uses SQLAlchemy Core.

`shared.database.engine` opens the transactions; services use this only in their `store` modules.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.errors import Rejected

Row = Mapping[str, Any]


class AsyncpgDriver:
    """The asyncpg connection of a transaction opened by `shared.database.engine`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def of(cls, connection: AsyncConnection) -> "AsyncpgDriver":
        """Return the driver of an open transaction's connection."""
        return cls(driver_of(connection))

    async def fetch(self, sql: str, *arguments: object) -> Sequence[Row]:
        """Run a prepared statement and return its rows. JSON is passed as text and returned decoded."""
        with _storable():
            rows: Sequence[Row] = await self._connection.fetch(sql, *arguments)
        return rows

    async def copy(
        self, table: str, schema: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """COPY rows into a table. The role needs the INSERT privilege on it."""
        with _storable():
            await self._connection.copy_records_to_table(
                table, schema_name=schema, columns=list(columns), records=rows
            )


def driver_of(connection: AsyncConnection) -> Any:
    """Return the asyncpg connection of an open connection. Unlike `get_raw_connection` it needs no greenlet, which costs as much as a statement."""
    return connection.sync_connection.connection.driver_connection  # type: ignore[union-attr]


@contextmanager
def _storable() -> Iterator[None]:
    """Raise Rejected for errors caused by the data; the transaction translates all others."""
    try:
        yield
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise Rejected("unstorable", f"Postgres cannot store this: {error}") from error
