"""What a cycle writes, in one statement per table whatever the number of rows, and the tokens it may use."""

from collections.abc import Iterable

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.rows import Row

BLOCK = 1_000_000


def _upsert(table: str, key: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(columns)
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column != key)
    return (
        f"INSERT INTO scheduler.{table} ({names}) SELECT {names}"
        f" FROM jsonb_populate_recordset(NULL::scheduler.{table}, CAST(:rows AS jsonb))"
        f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


_TRIALS = text(
    _upsert(
        "trial",
        "trial",
        (
            *(
                "trial",
                "tenant",
                "experiment",
                "version",
                "request",
                "wanted",
                "decide_at",
                "state",
                "place",
                "since",
            ),
            *("restarts", "fruitless", "runs", "best_step", "run"),
            *("awaited_run", "awaited_announced", "awaited_until"),
        ),
    )
)
_RUNS = text(
    _upsert(
        "run",
        "run",
        (
            *(
                "run",
                "tenant",
                "trial",
                "experiment",
                "allocation",
                "token",
                "number",
                "request",
                "generation",
            ),
            *("version", "pool", "state", "members", "preempted", "is_stale", "step", "announced"),
            *("granted_at", "ended_at"),
        ),
    )
)
_WORKERS = text(
    _upsert(
        "worker",
        "worker",
        (
            "worker",
            "pool",
            "address",
            "kind",
            "slot_ids",
            "liveness",
            "drain",
            "is_isolated",
            "version",
            "joined_at",
        ),
    )
)


async def save_trials(connection: AsyncConnection, rows: Iterable[Row]) -> None:
    await _save(connection, _TRIALS, rows)


async def save_runs(connection: AsyncConnection, rows: Iterable[Row]) -> None:
    await _save(connection, _RUNS, rows)


async def save_workers(connection: AsyncConnection, rows: Iterable[Row]) -> None:
    await _save(connection, _WORKERS, rows)


async def next_token_block(connection: AsyncConnection) -> int:
    """The first token of a block of `BLOCK` that nobody else uses; it is above all blocks taken before."""
    found = await connection.execute(text("SELECT nextval('scheduler.token_block')"))
    return int(found.scalar_one()) * BLOCK


async def _save(connection: AsyncConnection, statement: object, rows: Iterable[Row]) -> None:
    rows = list(rows)
    if rows:
        payload = orjson.dumps(rows, default=str).decode()
        await connection.execute(statement, {"rows": payload})  # type: ignore[call-overload]
