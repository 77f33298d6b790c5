"""What an experiment, a workspace or a tenant has here, as statements that let it go. Neighbour: `deleting`, which runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import case, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import State
from services.registry.store.arrays import among
from services.registry.store.report_tables import log_objects, media_packs
from services.registry.store.storage_tables import litter
from services.registry.store.tables import (
    checkpoint_files,
    checkpoints,
    experiments,
    models,
    objects,
    trials,
    versions,
)
from shared.deleting import Rows, outbox_of, rows_of

AT_ONCE, LITTER_AT_ONCE = 500, 1000
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


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a checkpoint that is to go."""

    id: UUID
    model: UUID
    number: int
    name: str


async def lock_experiment(connection: AsyncConnection, experiment: UUID) -> int | None:
    """Its number; nobody registers any of its checkpoints until the end of the transaction. None: it is not known."""
    query = select(experiments.c.number).where(experiments.c.id == experiment)
    number: int | None = await connection.scalar(query.with_for_update())
    return number


async def hold_experiment(connection: AsyncConnection, experiment: UUID) -> None:
    """Its deletion does not begin before the end of the transaction."""
    query = select(experiments.c.id).where(experiments.c.id == experiment)
    await connection.execute(query.with_for_update(read=True))


async def load_registered(connection: AsyncConnection, experiment: UUID) -> list[Registered]:
    """The versions that were made of its checkpoints and are not deleted."""
    registered = (
        select(versions.c.id, versions.c.model, versions.c.number, models.c.name)
        .join(checkpoints, checkpoints.c.id == versions.c.checkpoint)
        .join(models, models.c.id == versions.c.model)
        .where(checkpoints.c.experiment == experiment, versions.c.deleted_at.is_(None))
        .order_by(models.c.name, versions.c.number)
    )
    return [Registered(*row) for row in await connection.execute(registered)]


async def load_users(connection: AsyncConnection, experiment: UUID) -> list[int]:
    """The numbers of other experiments that have open trials which start from its checkpoints."""
    users = (
        select(experiments.c.number)
        .distinct()
        .join(trials, trials.c.experiment == experiments.c.id)
        .join(checkpoints, checkpoints.c.id == trials.c.start_checkpoint)
        .where(checkpoints.c.experiment == experiment, experiments.c.id != experiment)
        .where(trials.c.is_final.is_(False))
        .order_by(experiments.c.number)
    )
    return list(await connection.scalars(users))


async def save_litter(connection: AsyncConnection, prefixes: Sequence[str], due_at: datetime) -> None:
    """Has what comes below these until then be deleted after it."""
    made = insert(litter)
    known = made.on_conflict_do_update(index_elements=["prefix"], set_={"due_at": made.excluded.due_at})
    if prefixes:
        await connection.execute(known, [{"prefix": prefix, "due_at": due_at} for prefix in prefixes])


async def load_litter(connection: AsyncConnection, now: datetime) -> list[str]:
    """Prefixes that are due."""
    due = select(litter.c.prefix).where(litter.c.due_at <= now).limit(LITTER_AT_ONCE)
    return list(await connection.scalars(due))


async def save_swept(connection: AsyncConnection, prefixes: Sequence[str]) -> None:
    """Nothing more comes below these."""
    await connection.execute(delete(litter).where(among(litter.c.prefix, prefixes)))


async def load_left(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Some of its checkpoints that nobody has let go yet."""
    left = select(checkpoints.c.id).where(
        checkpoints.c.experiment == experiment,
        checkpoints.c.state.not_in((State.deleting, State.deleted)),
    )
    return list(await connection.scalars(left.order_by(checkpoints.c.id).limit(AT_ONCE)))


async def load_released(connection: AsyncConnection, experiment: UUID) -> list[str]:
    """Keys of objects to which only its deleted checkpoints referred."""
    released = (
        select(objects.c.key)
        .distinct()
        .join(checkpoint_files, checkpoint_files.c.key == objects.c.key)
        .join(checkpoints, checkpoints.c.id == checkpoint_files.c.checkpoint)
        .where(checkpoints.c.experiment == experiment, objects.c.unused_since.is_not(None))
        .limit(AT_ONCE)
    )
    return list(await connection.scalars(released))


async def let_go_of_packs(connection: AsyncConnection, experiment: UUID) -> bool:
    """Writes down that its media and its log lines in the store go; True while some are there."""
    state = media_packs.c.state
    packs = (
        update(media_packs)
        .where(media_packs.c.experiment == experiment, state.in_(("kept", "sending")))
        .values(state=case((state == "kept", "deleting"), else_="given_up"))
        .cte("packs")
    )
    of_experiment = log_objects.c.trial.in_(select(trials.c.id).where(trials.c.experiment == experiment))
    lines = (
        update(log_objects)
        .where(of_experiment, log_objects.c.state != "deleting")
        .values(state="deleting")
        .cte("lines")
    )
    is_left = or_(
        select(media_packs.c.id).where(media_packs.c.experiment == experiment).exists(),
        select(log_objects.c.id).where(of_experiment).exists(),
    )
    return bool(await connection.scalar(select(is_left).add_cte(packs, lines)))


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
