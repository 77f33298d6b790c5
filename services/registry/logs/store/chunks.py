"""Log lines as received: compressed chunks, numbered without gaps through a trial in commit order.

Older lines are in the object store (`log_objects`). Hot path on the raw driver: `save_chunks`, in the transaction that stores reports.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import orjson
from sqlalchemy import Date, delete, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.logs.core.line_columns import IncomingLine, Row
from services.registry.retention.store import LOG_DAYS, with_rules
from services.registry.store.report_tables import log_chunks, log_positions
from services.registry.store.tables import experiments, trials
from shared.database.driver import AsyncpgDriver

CHUNK_LINES = 10_000
"""Maximum lines of a chunk; a batch of 512 KiB has fewer. Pages use it to find their first chunk."""
MOST_CHUNKS = 1_000
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one run that were committed together."""

    trial: UUID
    run_number: int
    lines: tuple[IncomingLine, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk read from the database. `first`: number of its first line in the trial, from 1."""

    first: int
    lines: int
    run_number: int
    body: bytes

    @property
    def following(self) -> int:
        """Number after its last line."""
        return self.first + self.lines

    def rows(self) -> list[Row]:
        """Return its lines."""
        rows: list[Row] = orjson.loads(zlib.decompress(self.body))
        return rows


async def save_chunks(
    driver: AsyncpgDriver, tenant: UUID, day: date, chunks: Sequence[Chunk]
) -> dict[UUID, int]:
    """Store chunks consecutively and return each trial's next line number.

    The lock on the head's row makes the order of numbers the order of commits: readers that follow by number miss nothing.
    """
    counts: dict[UUID, int] = {}
    text_bytes: dict[UUID, int] = {}
    for chunk in chunks:
        counts[chunk.trial] = counts.get(chunk.trial, 0) + len(chunk.lines)
        text_bytes[chunk.trial] = text_bytes.get(chunk.trial, 0) + sum(
            len(line.text.encode()) for line in chunk.lines
        )
    trials = sorted(counts)
    heads = await driver.fetch(
        _HEADS, tenant, trials, [counts[trial] for trial in trials], [text_bytes[trial] for trial in trials]
    )
    after = {row["trial"]: row["next"] for row in heads}
    following = {trial: after[trial] - counts[trial] for trial in trials}
    firsts = []
    for chunk in chunks:
        firsts.append(following[chunk.trial])
        following[chunk.trial] += len(chunk.lines)
    await driver.fetch(
        _CHUNKS,
        day,
        tenant,
        [chunk.trial for chunk in chunks],
        firsts,
        [len(chunk.lines) for chunk in chunks],
        [chunk.run_number for chunk in chunks],
        [_pack(chunk.lines) for chunk in chunks],
    )
    return after


async def load_head(connection: AsyncConnection, trial: UUID) -> int:
    """Return the number that the trial's next line will get."""
    head: int | None = await connection.scalar(
        select(log_positions.c.next).where(log_positions.c.trial == trial)
    )
    return head or 1


async def load_chunks(connection: AsyncConnection, trial: UUID, after: int, lines: int) -> list[StoredChunk]:
    """Return chunks with lines numbered above `after`, in order, with about `lines` lines in total.

    Lines may be missing because they were moved to the object store meanwhile, or deleted.
    """
    columns = log_chunks.c
    found = (
        select(columns.first, columns.lines, columns.run_number, columns.body)
        .where(columns.trial == trial, columns.first > after - CHUNK_LINES)
        .where(columns.first + columns.lines > after + 1)
        .order_by(columns.first)
        .limit(min(lines, MOST_CHUNKS))
        .subquery()
    )
    before = func.sum(found.c.lines).over(order_by=found.c.first) - found.c.lines
    counted = select(found, before.label("before")).subquery()
    page = select(*(counted.c[name] for name in StoredChunk.__dataclass_fields__))
    rows = await connection.execute(page.where(counted.c.before < lines).order_by(counted.c.first))
    return [StoredChunk(*row) for row in rows]


async def delete_outdated(connection: AsyncConnection, today: date, most: int) -> int:
    """Delete at most `most` chunks older than the retention of experiment, workspace or tenant; return how many."""
    chunks, aged = log_chunks.c, log_chunks.alias("aged")
    of_experiment = aged.outerjoin(trials, trials.c.id == aged.c.trial).outerjoin(
        experiments, experiments.c.id == trials.c.experiment
    )
    outdated = (
        select(aged.c.day, aged.c.trial, aged.c.first)
        .select_from(with_rules(of_experiment, aged.c.tenant))
        .where(aged.c.day < literal(today, Date) - LOG_DAYS)
        .limit(most)
        .subquery()
    )
    deletion = delete(log_chunks).where(
        *(chunks[name] == outdated.c[name] for name in ("day", "trial", "first"))
    )
    return (await connection.execute(deletion)).rowcount


def _pack(lines: Sequence[IncomingLine]) -> bytes:
    rows = [(line.rank, line.stream, line.level, line.time_ms, line.text) for line in lines]
    return zlib.compress(orjson.dumps(rows), _LEVEL)


_HEADS = """
INSERT INTO registry.log_position AS h (tenant, trial, next, unpacked_bytes)
SELECT $1, t.trial, t.lines + 1, t.unpacked_bytes FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS t(trial, lines, unpacked_bytes)
ON CONFLICT (trial) DO UPDATE SET next = h.next + excluded.next - 1, unpacked_bytes = h.unpacked_bytes + excluded.unpacked_bytes
RETURNING trial, next
"""
_CHUNKS = """
INSERT INTO registry.log_chunk (day, tenant, trial, first, lines, run_number, body)
SELECT $1::date, $2::uuid, c.*
FROM unnest($3::uuid[], $4::bigint[], $5::int[], $6::int[], $7::bytea[]) AS c
"""
