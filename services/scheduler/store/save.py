"""Writes the changes of a cycle in one statement, and reserves tokens.

Hot path on the raw driver: a cycle commits these rows together with the messages that it emits.
"""

from dataclasses import dataclass, field

import orjson
from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.rows import Row
from services.scheduler.store.tables import run, token_block, trial, usage_entry, worker
from shared.database.driver import AsyncpgDriver
from shared.errors import Conflict

BLOCK = 1_000_000
_BY_HANDLERS = {
    *(
        "settled",
        "drain_requested",
        "reclaim",
        "is_removed",
        "disabled_slots",
        "user_key",
        "credentials_until",
    ),
}
"""Columns that handlers write."""


def _upsert(parameter: int, table: Table) -> str:
    """Insert or update the rows of parameter `place` while the lease is held (`held` then has its row)."""
    columns = [column.name for column in table.c if column.name not in _BY_HANDLERS]
    keys = [column.name for column in table.primary_key]
    names, key = ", ".join(columns), ", ".join(keys)
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in keys)
    return (
        f"INSERT INTO {table.fullname} ({names}) SELECT {names}"
        f" FROM held, jsonb_populate_recordset(NULL::{table.fullname}, ${parameter}::jsonb)"
        f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


_SAVE = (
    "WITH held AS MATERIALIZED (SELECT l.epoch FROM scheduler.lease l WHERE l.name = $1 AND l.epoch = $2 FOR KEY SHARE),"
    f" trials AS ({_upsert(3, trial)}), runs AS ({_upsert(4, run)}),"
    f" workers AS ({_upsert(5, worker)}), usage_entries AS ({_upsert(6, usage_entry)})"
    " SELECT epoch FROM held"
)


@dataclass(frozen=True, slots=True)
class CycleRows:
    """The rows that one cycle writes."""

    trials: list[Row]
    runs: list[Row]
    workers: list[Row]
    usage_entries: list[Row] = field(default_factory=list)


async def save_under(connection: AsyncConnection, lease: str, epoch: int, rows: CycleRows) -> None:
    """Write all rows in one statement, and lock the lease's row until the commit, so that no other process can
    take the lease meanwhile.

    Raises:
        Conflict: `not_leader`: the lease has another epoch; nothing was written.
    """
    written = (_json(table) for table in (rows.trials, rows.runs, rows.workers, rows.usage_entries))
    if not await AsyncpgDriver.of(connection).fetch(_SAVE, lease, epoch, *written):
        raise Conflict("not_leader", f"lease {lease} is held by another process")


async def next_token_block(connection: AsyncConnection) -> int:
    """Reserve a block of `BLOCK` tokens and return the first; it is greater than all tokens of earlier blocks."""
    found = await connection.execute(select(token_block.next_value()))
    return int(found.scalar_one()) * BLOCK


def _json(rows: list[Row]) -> str:
    return orjson.dumps(rows, default=str).decode()
