"""The one door to asyncpg beneath SQLAlchemy: arrays and COPY at a fifth of the processor time. And JSON of metric values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import asyncpg
import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.errors import Rejected, Transient

Row = Mapping[str, Any]


class Driver:
    """asyncpg's connection inside the transaction that SQLAlchemy has begun."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def of(cls, connection: AsyncConnection) -> "Driver":
        """Return the driver of a connection on which a statement was already executed, so that its transaction is open."""
        return cls((await connection.get_raw_connection()).driver_connection)

    async def fetch(self, sql: str, *arguments: object) -> Sequence[Row]:
        """Run a prepared statement and return its rows."""
        with _translated():
            rows: Sequence[Row] = await self._connection.fetch(sql, *arguments)
        return rows

    async def copy(
        self, table: str, schema: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """COPY rows into a table on which the role may insert."""
        with _translated():
            await self._connection.copy_records_to_table(
                table, schema_name=schema, columns=list(columns), records=rows
            )


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what passes SQLAlchemy by into errors of our tree; `Rejected` is what the data itself is to blame for."""
    try:
        yield
    except (
        asyncpg.PostgresConnectionError,
        asyncpg.OperatorInterventionError,
        asyncpg.InterfaceError,
    ) as error:
        raise Transient(f"Postgres does not answer: {error}", retry_after_s=0.5) from error
    except (asyncpg.TransactionRollbackError, asyncpg.InsufficientResourcesError) as error:
        raise Transient(f"Postgres asked to try again: {error}", retry_after_s=0.1) from error
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise Rejected("unstorable", f"Postgres cannot store this: {error}") from error


def encode_values(values: Mapping[str, float]) -> str:
    """Return metric values as JSON; what is not finite becomes a string, because JSON has no such numbers."""
    return orjson.dumps(
        {name: value if math.isfinite(value) else str(value) for name, value in values.items()}
    ).decode()


def decode_values(values: Mapping[str, float | str]) -> dict[str, float]:
    """Return metric values from what JSON held."""
    return {name: float(value) for name, value in values.items()}
