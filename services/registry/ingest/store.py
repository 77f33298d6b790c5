"""Stores marks, series, chunks of points and validations of many batches, with one statement per step.

Hot path on the raw driver: all reports pass through it, and only the driver supports COPY.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.summary import Summary
from services.registry.store.tables import report_cursors
from shared.database.driver import AsyncpgDriver
from shared.database.partitions import partition_name
from shared.messages.runs import AllocationFacts

COPY_FROM_ROWS = 96
"""Fewer chunks use INSERT, which saves a round trip; more use COPY, which costs less per row (measured)."""


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Source and record range of a batch: its first record, and the record after its last."""

    run: UUID
    worker: str
    stream: str
    first: int
    after: int


@dataclass(frozen=True, slots=True)
class MarkUpdate:
    """Result of a batch at its mark. `next_record` None: the source is unknown."""

    is_moved: bool
    next_record: int | None
    is_stale: bool = False
    superseded_after: int | None = None


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Identity of a series."""

    run: UUID
    group: str
    name: str


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """Points of a series stored as one row: count, step range, bytes, and the bytes of their roll-up."""

    series: int
    count: int
    first_step: int
    last_step: int
    body: bytes
    rolled_up: bytes | None = None


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """A validation; `values` is JSON."""

    run: UUID
    number: int
    trial: UUID
    experiment: UUID
    step: int
    time_ms: int
    values: str
    token: int
    is_stale: bool


async def move_marks(driver: AsyncpgDriver, sent: Sequence[BatchRange]) -> list[MarkUpdate]:
    """Advance the marks of all batches that start at theirs, in the order of `sent`; each source appears once."""
    rows = await driver.fetch(
        _MOVE,
        [one.run for one in sent],
        [one.worker for one in sent],
        [one.stream for one in sent],
        [one.first for one in sent],
        [one.after for one in sent],
    )
    return [
        MarkUpdate(True, one.after, row["is_stale"], row["superseded_after"])
        if row["moved"]
        else MarkUpdate(False, row["next"])
        for one, row in zip(sent, rows, strict=True)
    ]


async def register_sources(driver: AsyncpgDriver, sent: Sequence[BatchRange]) -> None:
    """Create marks for new sources of known runs, with the run's fence; they expect the first record."""
    await driver.fetch(
        _REGISTER, [one.run for one in sent], [one.worker for one in sent], [one.stream for one in sent]
    )


async def load_known_runs(driver: AsyncpgDriver, runs: Sequence[UUID]) -> set[UUID]:
    """Return which of the runs are known."""
    rows = await driver.fetch("SELECT id FROM registry.run WHERE id = ANY($1::uuid[])", list(runs))
    return {row["id"] for row in rows}


async def load_next(connection: AsyncConnection, run: UUID, worker: str, stream: str) -> int | None:
    """Return the next record that a source's mark expects; None for an unknown source."""
    next_record: int | None = await connection.scalar(
        select(report_cursors.c.next).where(
            report_cursors.c.run == run, report_cursors.c.worker == worker, report_cursors.c.stream == stream
        )
    )
    return next_record


async def load_series(driver: AsyncpgDriver, runs: Sequence[UUID]) -> dict[SeriesKey, int]:
    """Return all series of these runs."""
    rows = await driver.fetch(
        'SELECT id, run, "group", name FROM registry.series WHERE run = ANY($1::uuid[])', list(runs)
    )
    return {SeriesKey(row["run"], row["group"], row["name"]): row["id"] for row in rows}


async def register_series(
    driver: AsyncpgDriver, tenant: UUID, new: Mapping[SeriesKey, AllocationFacts]
) -> dict[SeriesKey, int]:
    """Create these series unless another replica has, and return their ids."""
    columns = [one.run for one in new], [one.group for one in new], [one.name for one in new]
    experiments = [facts.experiment_id for facts in new.values()]
    trials = [facts.trial_id for facts in new.values()]
    await driver.fetch(_REGISTER_SERIES, tenant, experiments, trials, *columns)
    rows = await driver.fetch(_NEW_SERIES, *columns)
    return {SeriesKey(row["run"], row["group"], row["name"]): row["id"] for row in rows}


async def save_chunks(
    driver: AsyncpgDriver,
    tenant: UUID,
    day: date,
    chunks: Sequence[ChunkRow],
    summaries: Sequence[tuple[int, Summary]],
) -> None:
    """Store points and update the summaries of their series."""
    rows = [(c.series, c.count, c.first_step, c.last_step, c.body, c.rolled_up) for c in chunks]
    if len(rows) < COPY_FROM_ROWS:
        columns = list(zip(*rows, strict=True)) or [()] * 6
        await driver.fetch(_INSERT_CHUNKS + _SUM, day, tenant, *columns, *_columns(summaries))
        return
    whole = [(day, tenant, *row) for row in rows]
    await driver.copy(partition_name("point_chunk", day), "registry", _CHUNK_COLUMNS, whole)
    await driver.fetch(_SUM_ALONE, *_columns(summaries))


async def save_validations(
    driver: AsyncpgDriver, tenant: UUID, now: datetime, rows: Sequence[ValidationRow]
) -> set[tuple[UUID, int]]:
    """Store validations and return the (run, number) pairs that were new."""
    stored = await driver.fetch(
        _INSERT_VALIDATIONS,
        tenant,
        now,
        [row.run for row in rows],
        [row.number for row in rows],
        [row.trial for row in rows],
        [row.experiment for row in rows],
        [row.step for row in rows],
        [row.time_ms for row in rows],
        [row.values for row in rows],
        [row.token for row in rows],
        [row.is_stale for row in rows],
    )
    return {(row["run"], row["number"]) for row in stored}


def _columns(summaries: Iterable[tuple[int, Summary]]) -> list[list[object]]:
    # By id, so that concurrent transactions lock series in the same order.
    rows = [
        (series, s.count, s.finite, s.least, s.greatest, s.total, s.last, s.last_step, s.first_step)
        for series, s in sorted(summaries, key=lambda one: one[0])
    ]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in _TYPES]


_CHUNK_COLUMNS = ("day", "tenant", "series", "count", "first_step", "last_step", "body", "rolled_up")

_MOVE = """
WITH sent AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
        WITH ORDINALITY AS s(run, worker, stream, first, after, place)
), moved AS (
    UPDATE registry.report_cursor m SET next = s.after FROM sent s
    WHERE m.run = s.run AND m.worker = s.worker AND m.stream = s.stream AND m.next = s.first
    RETURNING s.place, m.is_stale, m.superseded_after
)
SELECT moved.place IS NOT NULL AS moved, m.next, moved.is_stale, moved.superseded_after
FROM sent s
LEFT JOIN moved ON moved.place = s.place
LEFT JOIN registry.report_cursor m ON m.run = s.run AND m.worker = s.worker AND m.stream = s.stream
ORDER BY s.place
"""
_REGISTER = """
INSERT INTO registry.report_cursor (run, worker, stream, tenant, is_stale, superseded_after)
SELECT r.id, s.worker, s.stream, r.tenant, r.is_stale, r.superseded_after
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS s(run, worker, stream)
JOIN registry.run r ON r.id = s.run
FOR SHARE OF r
ON CONFLICT DO NOTHING
"""
_REGISTER_SERIES = """
INSERT INTO registry.series (tenant, experiment, trial, run, "group", name)
SELECT $1, s.experiment, s.trial, s.run, s."group", s.name
FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[]) AS s(experiment, trial, run, "group", name)
ORDER BY 4, 5, 6
ON CONFLICT DO NOTHING
"""
_NEW_SERIES = """
SELECT s.id, s.run, s."group", s.name
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n(run, "group", name)
JOIN registry.series s ON s.run = n.run AND s."group" = n."group" AND s.name = n.name
"""
_INSERT_CHUNKS = """
WITH stored AS (
    INSERT INTO registry.point_chunk (day, tenant, series, count, first_step, last_step, body, rolled_up)
    SELECT $1::date, $2::uuid, c.*
    FROM unnest($3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[]) AS c
)
"""
_SUM_TEMPLATE = """
UPDATE registry.series s SET
    count = s.count + u.count, finite = s.finite + u.finite,
    least = least(s.least, u.least), greatest = greatest(s.greatest, u.greatest), total = s.total + u.total,
    last = CASE WHEN u.last_step >= s.last_step THEN u.last ELSE s.last END,
    last_step = greatest(s.last_step, u.last_step), first_step = least(s.first_step, u.first_step)
FROM unnest({}) AS u(id, count, finite, least, greatest, total, last, last_step, first_step)
WHERE s.id = u.id
"""
_TYPES = ("bigint", "bigint", "bigint", "float8", "float8", "float8", "float8", "bigint", "bigint")
_SUM = _SUM_TEMPLATE.format(", ".join(f"${place}::{kind}[]" for place, kind in enumerate(_TYPES, start=9)))
_SUM_ALONE = _SUM_TEMPLATE.format(
    ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(_TYPES, start=1))
)
_INSERT_VALIDATIONS = """
INSERT INTO registry.validation
    (tenant, stored_at, run, number, trial, experiment, step, time_ms, values, token, is_stale)
SELECT $1, $2, v.run, v.number, v.trial, v.experiment, v.step, v.time_ms, v.values::jsonb, v.token, v.is_stale
FROM unnest($3::uuid[], $4::int[], $5::uuid[], $6::uuid[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[],
            $11::bool[]) AS v(run, number, trial, experiment, step, time_ms, values, token, is_stale)
ON CONFLICT (run, number) DO NOTHING
RETURNING run, number
"""
