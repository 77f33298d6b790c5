"""What a cycle writes, in one statement whatever the number of rows, and the tokens it may use."""

from dataclasses import dataclass, field

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.rows import Row
from shared.driver import Driver
from shared.errors import Conflict

BLOCK = 1_000_000


_TRIAL = (
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
    *("awaited_run", "awaited_announced", "not_before"),
    *("submitted_at", "preemptions", "turned_at", "ignores_signals", "elastic", "excluded"),
)
_RUN = (
    *("run", "tenant", "trial", "experiment", "allocation", "token", "number", "request", "generation"),
    *("version", "pool", "state", "members", "preempted", "is_stale", "step", "announced"),
    *("granted_at", "ended_at", "exits", "first_exit_at", "pause_asked", "asked_because", "asked_for"),
    *("asked_slots", "forming", "took"),
)
_WORKER = (
    *(
        "worker",
        "pool",
        "address",
        "labels",
        "kind",
        "slot_ids",
        "liveness",
        "drain",
        "is_isolated",
        "version",
        "joined_at",
    ),
)
_HOLDING = (
    *(
        "allocation",
        "worker",
        "since",
        "tenant",
        "workspace",
        "owner",
        "experiment",
        "pool",
        "slots",
        "until",
        "price_per_slot_hour",
    ),
)


def _upsert(place: int, table: str, columns: tuple[str, ...], keys: int = 1) -> str:
    """Inserts or replaces the rows of parameter `place` by their first `keys` columns, as long as the lease is held (`held` has
    its row then)."""
    names, key = ", ".join(columns), ", ".join(columns[:keys])
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns[keys:])
    return (
        f"INSERT INTO scheduler.{table} ({names}) SELECT {names}"
        f" FROM held, jsonb_populate_recordset(NULL::scheduler.{table}, ${place}::jsonb)"
        f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


_SAVE = (
    "WITH held AS MATERIALIZED (SELECT l.epoch FROM scheduler.lease l WHERE l.name = $1 AND l.epoch = $2 FOR KEY SHARE),"
    f" trials AS ({_upsert(3, 'trial', _TRIAL)}), runs AS ({_upsert(4, 'run', _RUN)}),"
    f" workers AS ({_upsert(5, 'worker', _WORKER)}), holdings AS ({_upsert(6, 'holding', _HOLDING, keys=3)})"
    " SELECT epoch FROM held"
)


@dataclass(frozen=True, slots=True)
class Rows:
    """What one cycle writes."""

    trials: list[Row]
    runs: list[Row]
    workers: list[Row]
    holdings: list[Row] = field(default_factory=list)


async def save_under(connection: AsyncConnection, lease: str, epoch: int, rows: Rows) -> None:
    """Writes all rows in one statement, and holds the lease's row until the commit, so that nobody takes it meanwhile.

    Raises:
        Conflict: `not_leader`: the lease has another epoch; nothing was written.
    """
    written = (_json(table) for table in (rows.trials, rows.runs, rows.workers, rows.holdings))
    if not await Driver.of(connection).fetch(_SAVE, lease, epoch, *written):
        raise Conflict("not_leader", f"the lease {lease} has passed to another")


async def next_token_block(connection: AsyncConnection) -> int:
    """The first token of a block of `BLOCK` that nobody else uses; it is above all blocks taken before."""
    found = await connection.execute(text("SELECT nextval('scheduler.token_block')"))
    return int(found.scalar_one()) * BLOCK


def _json(rows: list[Row]) -> str:
    return orjson.dumps(rows, default=str).decode()
