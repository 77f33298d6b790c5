"""What an experiment, a workspace or a tenant has here, as statements that let it go. Neighbour: `deleting`, which runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.deleting import Rows, outbox_of, rows_of
from shared.driver import Driver

AT_ONCE = 500
_TRIALS = "SELECT id FROM registry.trials WHERE experiment = $1"
_CHECKPOINTS = "SELECT id FROM registry.checkpoints WHERE experiment = $1"
# A place in a partitioned table is none in its parent: what such tables hold goes with what it belongs to, some at a time.
_SERIES = """
WITH few AS (SELECT id FROM registry.series WHERE {} = $1 LIMIT 200),
    chunks AS (DELETE FROM registry.point_chunks c USING few WHERE c.series = few.id)
DELETE FROM registry.series s USING few WHERE s.id = few.id
"""
_LINES = """
DELETE FROM registry.log_chunks c USING (
    SELECT h.trial FROM registry.log_heads h WHERE {} AND EXISTS (
        SELECT FROM registry.log_chunks l WHERE l.trial = h.trial) LIMIT 50) few
WHERE c.trial = few.trial
"""
_REGISTERED = text(
    "SELECT v.id, v.model, v.number, m.name FROM registry.versions v JOIN registry.checkpoints c ON c.id = v.checkpoint"
    " JOIN registry.models m ON m.id = v.model WHERE c.experiment = :experiment AND v.deleted_at IS NULL"
    " ORDER BY m.name, v.number"
)
_USERS = text(
    "SELECT DISTINCT e.number FROM registry.trials t JOIN registry.checkpoints c ON c.id = t.start_checkpoint"
    " JOIN registry.experiments e ON e.id = t.experiment"
    " WHERE c.experiment = :experiment AND t.experiment <> :experiment AND NOT t.is_final ORDER BY 1"
)
_LOCK = text("SELECT number FROM registry.experiments WHERE id = :experiment FOR UPDATE")
_HOLD = text("SELECT FROM registry.experiments WHERE id = :experiment FOR SHARE")
_LEFT = (
    "SELECT id FROM registry.checkpoints WHERE experiment = $1 AND state NOT IN ('deleting', 'deleted')"
    f" ORDER BY id LIMIT {AT_ONCE}"
)
_RELEASED = (
    "SELECT DISTINCT o.key FROM registry.objects o JOIN registry.checkpoint_files f ON f.key = o.key"
    " JOIN registry.checkpoints c ON c.id = f.checkpoint"
    f" WHERE c.experiment = $1 AND o.unused_since IS NOT NULL LIMIT {AT_ONCE}"
)
_LITTER = (
    "INSERT INTO registry.litter (prefix, due_at) SELECT unnest($1::text[]), $2"
    " ON CONFLICT (prefix) DO UPDATE SET due_at = excluded.due_at"
)
_PACKS = """
WITH going AS (
    UPDATE registry.media_packs SET state = CASE state WHEN 'kept' THEN 'deleting' ELSE 'given_up' END
    WHERE experiment = $1 AND state IN ('kept', 'sending'))
SELECT EXISTS (SELECT FROM registry.media_packs WHERE experiment = $1) AS is_left
"""
_LOG_OBJECTS = """
WITH going AS (
    UPDATE registry.log_objects SET state = 'deleting'
    WHERE trial IN (SELECT id FROM registry.trials WHERE experiment = $1) AND state <> 'deleting')
SELECT EXISTS (SELECT FROM registry.log_objects WHERE trial IN (
    SELECT id FROM registry.trials WHERE experiment = $1)) AS is_left
"""


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a checkpoint that is to go."""

    id: UUID
    model: UUID
    number: int
    name: str


async def lock_experiment(connection: AsyncConnection, experiment: UUID) -> int | None:
    """Its number; nobody registers any of its checkpoints until the end of the transaction. None: it is not known."""
    number: int | None = await connection.scalar(_LOCK, {"experiment": experiment})
    return number


async def hold_experiment(connection: AsyncConnection, experiment: UUID) -> None:
    """Its deletion does not begin before the end of the transaction."""
    await connection.execute(_HOLD, {"experiment": experiment})


async def load_registered(connection: AsyncConnection, experiment: UUID) -> list[Registered]:
    """The versions that were made of its checkpoints and are not deleted."""
    return [Registered(*row) for row in await connection.execute(_REGISTERED, {"experiment": experiment})]


async def load_users(connection: AsyncConnection, experiment: UUID) -> list[int]:
    """The numbers of other experiments that have open trials which start from its checkpoints."""
    return list(await connection.scalars(_USERS, {"experiment": experiment}))


async def save_litter(driver: Driver, prefixes: Sequence[str], due_at: datetime) -> None:
    """Has what comes below these until then be deleted after it."""
    await driver.fetch(_LITTER, list(prefixes), due_at)


async def load_litter(driver: Driver, now: datetime) -> list[str]:
    """Prefixes that are due."""
    rows = await driver.fetch("SELECT prefix FROM registry.litter WHERE due_at <= $1 LIMIT 1000", now)
    return [row["prefix"] for row in rows]


async def save_swept(driver: Driver, prefixes: Sequence[str]) -> None:
    """Nothing more comes below these."""
    await driver.fetch("DELETE FROM registry.litter WHERE prefix = ANY($1::text[])", list(prefixes))


async def load_left(driver: Driver, experiment: UUID) -> list[UUID]:
    """Some of its checkpoints that nobody has let go yet."""
    return [row["id"] for row in await driver.fetch(_LEFT, experiment)]


async def load_released(driver: Driver, experiment: UUID) -> list[str]:
    """Keys of objects to which only its deleted checkpoints referred."""
    return [row["key"] for row in await driver.fetch(_RELEASED, experiment)]


async def let_go_of_packs(driver: Driver, experiment: UUID) -> bool:
    """Writes down that its media and its log lines in the store go; True while some are there."""
    media = await driver.fetch(_PACKS, experiment)
    lines = await driver.fetch(_LOG_OBJECTS, experiment)
    return bool(media[0]["is_left"] or lines[0]["is_left"])


def experiment_rows(experiment: UUID) -> Sequence[Rows]:
    """An experiment's rows: marks first, so that a batch that is being stored is waited for and none comes after it."""
    by_trial = f"trial IN ({_TRIALS})"
    marks = "run IN (SELECT id FROM registry.runs WHERE experiment = $1)"
    return (
        rows_of("registry.marks", marks, experiment),
        Rows(_SERIES.format("experiment"), (experiment,)),
        rows_of("registry.validations", by_trial, experiment),
        Rows(_LINES.format(f"h.{by_trial}"), (experiment,)),
        rows_of("registry.log_heads", by_trial, experiment),
        rows_of("registry.media", by_trial, experiment),
        rows_of("registry.checkpoint_files", f"checkpoint IN ({_CHECKPOINTS})", experiment),
        *outbox_of("registry", ["checkpoint"], _CHECKPOINTS, experiment),
        rows_of("registry.checkpoints", "experiment = $1", experiment),
        rows_of("registry.runs", "experiment = $1", experiment),
        rows_of("registry.trials", "experiment = $1", experiment),
        rows_of("registry.experiments", "id = $1", experiment),
    )


def workspace_rows(tenant: UUID, workspace: str) -> Sequence[Rows]:
    """What belongs to a workspace itself: its models, and its rules of retention."""
    models = "SELECT id FROM registry.models WHERE tenant = $1 AND workspace = $2"
    versions = f"SELECT id FROM registry.versions WHERE model IN ({models})"
    given = tenant, workspace
    return (
        rows_of("registry.consumers", f"version IN ({versions})", *given),
        *outbox_of("registry", ["version"], versions, *given),
        rows_of("registry.versions", f"model IN ({models})", *given),
        *outbox_of("registry", ["model"], models, *given),
        rows_of("registry.models", "tenant = $1 AND workspace = $2", *given),
        *(
            rows_of(f"registry.{table}", "tenant = $1 AND workspace = $2", *given)
            for table in ("retention", "workspace_storage", "workspace_objects")
        ),
    )


def tenant_rows(tenant: UUID) -> Sequence[Rows]:
    """What lies in partitioned tables; `shared.deleting` knows all others."""
    return (
        rows_of("registry.marks", "tenant = $1", tenant),
        Rows(_SERIES.format("tenant"), (tenant,)),
        Rows(_LINES.format("h.tenant = $1"), (tenant,)),
    )
