"""The media catalogue: packs in the object store, and their items. Packs are numbered under the trial's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    Integer,
    RowMapping,
    case,
    cast,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.retention.store import METRIC_DAYS, with_rules
from services.registry.store.report_tables import media, media_packs
from services.registry.store.tables import experiments, runs, trials
from shared.database.statements import among
from shared.messages.media import MediaItem
from shared.messages.runs import AllocationFacts


@dataclass(frozen=True, slots=True)
class Pack:
    """An object with media, stored or about to be."""

    id: UUID
    tenant: UUID
    trial: UUID
    run: UUID
    state: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class MediaQuery:
    """Filter on a trial's media; empty or None: no restriction."""

    trial: UUID
    kinds: Sequence[str] = ()
    group: str | None = None
    names: Sequence[str] = ()
    first_step: int | None = None
    last_step: int | None = None


async def begin_pack(
    connection: AsyncConnection,
    id: UUID,
    facts: AllocationFacts,
    size_bytes: int,
    sha256: str,
    now: datetime,
) -> Pack | None:
    """Record the intent unless it exists; None if another tenant uses the id."""
    row = {
        "id": id,
        "tenant": facts.tenant,
        "experiment": facts.experiment_id,
        "trial": facts.trial_id,
        "run": facts.run_id,
        "size_bytes": size_bytes,
        "sha256": sha256,
        "created_at": now,
    }
    await connection.execute(insert(media_packs).values(row).on_conflict_do_nothing())
    return await load_pack(connection, id)


async def load_pack(connection: AsyncConnection, id: UUID) -> Pack | None:
    """Return a pack's row, locked; None if there is none."""
    row = (await connection.execute(_PACK.where(media_packs.c.id == id).with_for_update())).first()
    return Pack(*row) if row else None


async def keep_pack(
    connection: AsyncConnection, pack: Pack, items: Sequence[tuple[int, MediaItem]], workspace: str | None
) -> None:
    """Make a locked pack of a locked trial count, with its items, and store the workspace that its bytes are counted for."""
    # The count is stored with the trial, because packs may be deleted. Some packs are older than the count.
    newest = select(func.max(media_packs.c.number)).where(media_packs.c.trial == pack.trial)
    counted = (
        update(trials)
        .where(trials.c.id == pack.trial)
        .values(media_packs=func.greatest(trials.c.media_packs, newest.scalar_subquery()) + 1)
        .returning(trials.c.media_packs)
        .cte("counted")
    )
    kept = (
        update(media_packs)
        .where(media_packs.c.id == pack.id)
        .values(state="stored", workspace=workspace, number=counted.c.media_packs)
        .returning(media_packs.c.number)
    )
    number = await connection.scalar(kept)
    rows = [
        {
            **one.model_dump(),
            "position": index,
            "trial": pack.trial,
            "pack": number,
            "tenant": pack.tenant,
            "pack_id": pack.id,
            "run": pack.run,
        }
        for index, one in items
    ]
    if rows:
        await connection.execute(insert(media), rows)


async def load_media(
    connection: AsyncConnection, wanted: MediaQuery, after: tuple[int, int], limit: int
) -> Sequence[RowMapping]:
    """Return the rows after a pack and item index, in storage order, without superseded ones."""
    page = (
        select(media, runs.c.number.label("run_number"))
        .select_from(_WITH_RUNS)
        .where(*_counting(wanted), tuple_(media.c.pack, media.c.position) > after)
        .order_by(media.c.pack, media.c.position)
        .limit(limit)
    )
    return (await connection.execute(page)).mappings().all()


async def load_names(
    connection: AsyncConnection, trial: UUID, after: tuple[str, str, str], limit: int
) -> Sequence[RowMapping]:
    """Return a trial's kinds, groups and names after these three."""
    name = media.c.kind, media.c.group, media.c.name
    page = (
        select(
            *name,
            func.count().label("count"),
            cast(func.sum(media.c.size_bytes), BigInteger).label("size_bytes"),
            func.min(media.c.step).label("first_step"),
            func.max(media.c.step).label("last_step"),
        )
        .select_from(_WITH_RUNS)
        .where(*_counting(MediaQuery(trial)), tuple_(*name) > after)
        .group_by(*name)
        .order_by(*name)
        .limit(limit)
    )
    return (await connection.execute(page)).mappings().all()


async def mark_deleting(
    connection: AsyncConnection, today: date, site_days: int | None, sent_before: datetime, limit: int
) -> list[Pack]:
    """Mark packs for deletion: those never committed, and those older than the retention of experiment, rules and site; return all marked ones."""
    packs = media_packs.c
    days = func.least(METRIC_DAYS, literal(site_days, Integer), type_=Integer)
    outdated = (
        select(_AGED.c.id)
        .select_from(
            with_rules(_AGED.outerjoin(experiments, experiments.c.id == _AGED.c.experiment), _AGED.c.tenant)
        )
        .where(_AGED.c.state == "stored", _AGED.c.created_at < literal(today, Date) - days)
    )
    going = (
        update(media_packs)
        .where(
            (packs.state == "uploading") & (packs.created_at < sent_before)
            | (packs.state == "stored") & packs.id.in_(outdated)
        )
        .values(state=case((packs.state == "stored", "deleting"), else_="abandoned"))
        .returning(packs.trial, packs.number)
        .cte("going")
    )
    await connection.execute(
        delete(media).where(media.c.trial == going.c.trial, media.c.pack == going.c.number)
    )
    rows = await connection.execute(_PACK.where(packs.state.in_(_GOING)).limit(limit))
    return [Pack(*row) for row in rows]


async def remove_deleted(
    connection: AsyncConnection, packs: Sequence[UUID]
) -> Mapping[tuple[UUID, str | None], int]:
    """Delete the rows of packs whose objects are deleted; return the freed bytes by tenant and workspace, in one order for all replicas."""
    columns = media_packs.c
    counted = case((columns.state == "deleting", columns.size_bytes), else_=0).label("freed")
    deleted = (
        delete(media_packs)
        .where(among(columns.id, packs), columns.state.in_(_GOING))
        .returning(columns.tenant, columns.workspace, counted)
        .cte("deleted")
    )
    whose = deleted.c.tenant, deleted.c.workspace
    freed = select(*whose, cast(func.sum(deleted.c.freed), BigInteger)).group_by(*whose).order_by(*whose)
    return {(tenant, workspace): size for tenant, workspace, size in await connection.execute(freed)}


def _counting(wanted: MediaQuery) -> list[ColumnElement[bool]]:
    """Return the conditions for wanted media that count: of a repeated step, only the later run's, as for metrics."""
    conditions = [media.c.trial == wanted.trial, _COUNTS]
    if wanted.kinds:
        conditions.append(among(media.c.kind, wanted.kinds))
    if wanted.group is not None:
        conditions.append(media.c.group == wanted.group)
    if wanted.names:
        conditions.append(among(media.c.name, wanted.names))
    if wanted.first_step is not None:
        conditions.append(media.c.step >= wanted.first_step)
    if wanted.last_step is not None:
        conditions.append(media.c.step <= wanted.last_step)
    return conditions


_GOING = ("deleting", "abandoned")
_PACK = select(*(media_packs.c[name] for name in Pack.__dataclass_fields__))
_AGED = media_packs.alias("aged")
_WITH_RUNS = media.join(runs, runs.c.id == media.c.run)
_LATER, _LATER_RUNS = media.alias("later"), runs.alias("later_runs")
_IS_REPEATED = (
    select(_LATER.c.trial)
    .join(_LATER_RUNS, _LATER_RUNS.c.id == _LATER.c.run)
    .where(*(_LATER.c[name] == media.c[name] for name in ("trial", "name", "step", "kind", "group")))
    .where(_LATER_RUNS.c.number > runs.c.number)
    .correlate(media, runs)
    .exists()
)
_COUNTS = (media.c.kind == "events") | (
    (runs.c.superseded_after.is_(None) | (media.c.step <= runs.c.superseded_after)) & ~_IS_REPEATED
)
