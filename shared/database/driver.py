"""asyncpg beneath SQLAlchemy, for hot paths: storing and reading points, saving a scheduler cycle, outbox and inbox. All else is SQLAlchemy Core.

Neighbours: shared.database.engine opens the transactions; services use this in their `store` only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.errors import Rejected

Row = Mapping[str, Any]


class AsyncpgDriver:
    """asyncpg's connection inside a transaction that shared.database.engine has opened."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def of(cls, connection: AsyncConnection) -> "AsyncpgDriver":
        """Return the driver of an open transaction's connection."""
        return cls(driver_of(connection))

    async def fetch(self, sql: str, *arguments: object) -> Sequence[Row]:
        """Run a prepared statement and return its rows; JSON is given as text, and comes decoded."""
        with _storable():
            rows: Sequence[Row] = await self._connection.fetch(sql, *arguments)
        return rows

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


@contextmanager
def _storable() -> Iterator[None]:
    """What the data itself is to blame for is Rejected; the rest is the transaction's to translate."""
    try:
        yield
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise Rejected("unstorable", f"Postgres cannot store this: {error}") from error
