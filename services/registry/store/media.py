"""The catalogue of media: packs in the object store, and what lies in each. The trial is locked where its packs are numbered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from services.registry.core.metadata import encode_json
from services.registry.store.retention import METRIC_DAYS, RULES
from shared.driver import Driver, Row
from shared.messages.media import MediaItem
from shared.messages.runs import AllocationFacts


@dataclass(frozen=True, slots=True)
class Pack:
    """An object that holds media, or is about to."""

    id: UUID
    tenant: UUID
    trial: UUID
    run: UUID
    state: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which media of a trial are asked for; what is empty or None bounds nothing."""

    trial: UUID
    kinds: Sequence[str] = ()
    group: str | None = None
    names: Sequence[str] = ()
    first_step: int | None = None
    last_step: int | None = None


async def begin_pack(
    driver: Driver, id: UUID, facts: AllocationFacts, size_bytes: int, sha256: str, now: datetime
) -> Pack | None:
    """Write the intent down, unless it stands already; None where the id is another's."""
    known = facts.tenant, facts.experiment_id, facts.trial_id, facts.run_id
    await driver.fetch(_BEGIN, id, *known, size_bytes, sha256, now)
    return await load_pack(driver, id)


async def load_pack(driver: Driver, id: UUID) -> Pack | None:
    """Return a pack's row, locked; None without one."""
    rows = await driver.fetch(_LOAD, id)
    return _pack(rows[0]) if rows else None


async def keep_pack(
    driver: Driver, pack: Pack, items: Sequence[tuple[int, MediaItem]], workspace: str | None
) -> None:
    """Let a locked pack of a locked trial count, with what lies in it, and keep which workspace's bytes it is counted among."""
    [row] = await driver.fetch(_KEEP, pack.id, pack.trial, workspace)
    rows = [
        (
            place,
            one.kind,
            one.group,
            one.name,
            one.step,
            one.time_ms,
            one.content_type,
            one.offset,
            one.size_bytes,
            one.sha256,
            encode_json(one.about).decode(),
        )
        for place, one in items
    ]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        await driver.fetch(_SAVE, pack.trial, row["number"], pack.tenant, pack.id, pack.run, *columns)


async def load_media(driver: Driver, wanted: Wanted, after: tuple[int, int], limit: int) -> list[Row]:
    """Return the rows behind a pack and place, in the order of storing; what is superseded is left out."""
    rows = await driver.fetch(_PAGE, *_bounds(wanted), *after, limit)
    return list(rows)


async def load_names(driver: Driver, trial: UUID, after: tuple[str, str, str], limit: int) -> list[Row]:
    """Return what a trial has, by kind, group and name, behind these three."""
    return list(await driver.fetch(_NAMES, *_bounds(Wanted(trial)), *after, limit))


async def let_go(
    driver: Driver, today: date, site_days: int | None, sent_before: datetime, limit: int
) -> list[Pack]:
    """Write down which packs go: what nobody committed, and what is older than experiment, rules and site keep; return all that are to go."""
    await driver.fetch(_LET_GO, today, site_days, sent_before)
    return [_pack(row) for row in await driver.fetch(_GOING, limit)]


async def save_gone(driver: Driver, packs: Sequence[UUID]) -> Mapping[tuple[UUID, str | None], int]:
    """Forget packs whose objects are deleted; return the bytes that tenants have back, by workspace."""
    rows = await driver.fetch(_GONE, list(packs))
    return {(row["tenant"], row["workspace"]): row["freed"] for row in rows}


def _bounds(wanted: Wanted) -> tuple[Any, ...]:
    kinds, names = list(wanted.kinds) or None, list(wanted.names) or None
    return wanted.trial, kinds, wanted.group, names, wanted.first_step, wanted.last_step


def _pack(row: Row) -> Pack:
    return Pack(
        row["id"], row["tenant"], row["trial"], row["run"], row["state"], row["size_bytes"], row["sha256"]
    )


_BEGIN = """
INSERT INTO registry.media_packs (id, tenant, experiment, trial, run, size_bytes, sha256, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING
"""
_LOAD = """
SELECT id, tenant, trial, run, state, size_bytes, sha256 FROM registry.media_packs WHERE id = $1 FOR UPDATE
"""
# Numbers are counted with the trial: of packs that are gone nobody could tell. A replica of before counts by what is there.
_KEEP = """
WITH counted AS (
    UPDATE registry.trials SET media_packs = 1 + greatest(
        media_packs, (SELECT max(number) FROM registry.media_packs WHERE trial = $2))
    WHERE id = $2 RETURNING media_packs)
UPDATE registry.media_packs p SET state = 'kept', workspace = $3, number = counted.media_packs FROM counted WHERE p.id = $1 RETURNING p.number
"""
_SAVE = """
INSERT INTO registry.media (trial, pack, tenant, pack_id, run, place, kind, "group", name, step, time_ms, content_type, "offset",
    size_bytes, sha256, about)
SELECT $1, $2, $3, $4, $5, item.* FROM unnest($6::int[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[],
    $12::text[], $13::bigint[], $14::bigint[], $15::text[], $16::jsonb[]) AS item
"""
# Of a step that a later run logged again, the later one counts: as of metrics.
_COUNTING = """
FROM registry.media m JOIN registry.runs r ON r.id = m.run
WHERE m.trial = $1 AND ($2::text[] IS NULL OR m.kind = ANY($2)) AND ($3::text IS NULL OR m."group" = $3)
    AND ($4::text[] IS NULL OR m.name = ANY($4)) AND ($5::bigint IS NULL OR m.step >= $5)
    AND ($6::bigint IS NULL OR m.step <= $6)
    AND (m.kind = 'events' OR ((r.superseded_after IS NULL OR m.step <= r.superseded_after) AND NOT EXISTS (
        SELECT FROM registry.media l JOIN registry.runs q ON q.id = l.run
        WHERE l.trial = m.trial AND l.name = m.name AND l.step = m.step AND l.kind = m.kind AND l."group" = m."group"
            AND q.number > r.number)))
"""
_PAGE = f"""
SELECT m.*, r.number AS run_number {_COUNTING} AND (m.pack, m.place) > ($7::bigint, $8::int)
ORDER BY m.pack, m.place LIMIT $9
"""
_NAMES = f"""
SELECT m.kind, m."group", m.name, count(*) AS count, sum(m.size_bytes)::bigint AS size_bytes, min(m.step) AS first_step,
    max(m.step) AS last_step
{_COUNTING} AND (m.kind, m."group", m.name) > ($7::text, $8::text, $9::text)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT $10
"""
_LET_GO = f"""
WITH outdated AS (
    SELECT p.id FROM registry.media_packs p LEFT JOIN registry.experiments e ON e.id = p.experiment
    {RULES.format(tenant="p.tenant", workspace="e.workspace")}
    WHERE p.state = 'kept' AND p.created_at < $1::date - least({METRIC_DAYS}, $2::int)
), going AS (
    UPDATE registry.media_packs p SET state = CASE p.state WHEN 'kept' THEN 'deleting' ELSE 'given_up' END
    WHERE (p.state = 'sending' AND p.created_at < $3) OR (p.state = 'kept' AND p.id IN (SELECT id FROM outdated))
    RETURNING p.trial, p.number)
DELETE FROM registry.media m USING going g WHERE m.trial = g.trial AND m.pack = g.number
"""
_GOING = """
SELECT id, tenant, trial, run, state, size_bytes, sha256 FROM registry.media_packs WHERE state IN ('deleting', 'given_up') LIMIT $1
"""
_GONE = """
WITH gone AS (
    DELETE FROM registry.media_packs WHERE id = ANY($1::uuid[]) AND state IN ('deleting', 'given_up')
    RETURNING tenant, workspace, CASE state WHEN 'deleting' THEN size_bytes ELSE 0 END AS freed)
SELECT tenant, workspace, sum(freed)::bigint AS freed FROM gone GROUP BY 1, 2 ORDER BY 1, 2
"""
