"""The submission of an experiment: its key, its number and what bounds it in one statement, its row in another.

Hot: while it goes on, the tenant's counter is held, and everybody else of the tenant waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import experiment
from shared.driver import Driver

_COLUMNS = ", ".join(column.name for column in experiment.c)
_BEGIN = """
WITH claimed AS (
    INSERT INTO gateway.idempotency (tenant, operation, key, fingerprint, entity, position, created_at)
    SELECT $1::uuid, $3, $4, $5::bytea, $6::uuid, 0, $7::timestamptz WHERE $4::text IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING key
), numbered AS (
    INSERT INTO gateway.counter (tenant, experiments, events)
    SELECT $1, 1, 0 WHERE $4 IS NULL OR EXISTS (SELECT FROM claimed)
    ON CONFLICT (tenant) DO UPDATE SET experiments = gateway.counter.experiments + 1 RETURNING experiments
)
SELECT (SELECT experiments FROM numbered) AS number,
    EXISTS (SELECT FROM gateway.deletion WHERE scope = 'workspace' AND name = $2 AND ended_at IS NULL) AS is_doomed,
    (SELECT json_object_agg(workspace, max_experiments) FROM gateway.quota
        WHERE workspace IN ('', $2) AND max_experiments IS NOT NULL)::text AS most
"""
_INSERT = (
    f"INSERT INTO gateway.experiment ({_COLUMNS})"
    f" SELECT {_COLUMNS} FROM json_populate_record(NULL::gateway.experiment, $1::json)"
)


@dataclass(frozen=True, slots=True)
class Begun:
    """The number that an experiment has, and what may forbid it; `most`: of open experiments, by workspace, the tenant's own as ""."""

    number: int
    is_doomed: bool
    most: Mapping[str, int]


async def begin(
    connection: AsyncConnection, tenant: UUID, workspace: str, claim: Mapping[str, Any] | None
) -> Begun | None:
    """Claims a key and takes the tenant's next number; holds the counter's row until the end of the transaction, so that none is skipped.

    Args:
        claim: the key with what `claim_key` takes; None: without one.

    Returns:
        None where the key was claimed before; nothing has changed then.
    """
    given = claim or {}
    names = ("operation", "key", "fingerprint", "entity", "created_at")
    rows = await Driver.of(connection).fetch(_BEGIN, tenant, workspace, *(given.get(name) for name in names))
    (row,) = rows
    if row["number"] is None:
        return None
    return Begun(row["number"], row["is_doomed"], orjson.loads(row["most"]) if row["most"] else {})


async def insert(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Inserts the experiment's row."""
    await Driver.of(connection).run(_INSERT, orjson.dumps(values, default=str).decode())
