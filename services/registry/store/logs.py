"""Log lines in compressed chunks, numbered without gaps through a trial in the order of their commits."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import orjson

from shared.driver import Driver

CHUNK_LINES = 10_000
"""No chunk holds more: a batch of 512 KiB has fewer, and a page finds its first chunk by that."""
MOST_CHUNKS = 1_000
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A log line as it is kept."""

    rank: int
    stream: str
    level: str | None
    time_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one run that were committed together."""

    trial: UUID
    run_number: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A line with its number in the trial, counted from 1."""

    cursor: int
    run_number: int
    line: Line


async def save_chunks(driver: Driver, tenant: UUID, day: date, chunks: Sequence[Chunk]) -> dict[UUID, int]:
    """Store chunks behind each other and return each trial's next number.

    The head's row lock makes the order of numbers the order of commits: who follows by number misses nothing.
    """
    counts: dict[UUID, int] = {}
    for chunk in chunks:
        counts[chunk.trial] = counts.get(chunk.trial, 0) + len(chunk.lines)
    trials = sorted(counts)
    heads = await driver.fetch(_HEADS, tenant, trials, [counts[trial] for trial in trials])
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


async def load_head(driver: Driver, trial: UUID) -> int:
    """Return the number that the trial's next line will get."""
    rows = await driver.fetch("SELECT next FROM registry.log_heads WHERE trial = $1", trial)
    return rows[0]["next"] if rows else 1


async def load_chunks(driver: Driver, trial: UUID, after: int, lines: int) -> list[Placed]:
    """Return the lines numbered above `after`, in order, of as many chunks as hold about `lines` of them."""
    rows = await driver.fetch(_PAGE, trial, after, min(lines, MOST_CHUNKS), CHUNK_LINES, lines)
    return [
        Placed(row["first"] + place, row["run_number"], line)
        for row in rows
        for place, line in enumerate(_unpack(row["body"]))
        if row["first"] + place > after
    ]


def _pack(lines: Sequence[Line]) -> bytes:
    rows = [(line.rank, line.stream, line.level, line.time_ms, line.text) for line in lines]
    return zlib.compress(orjson.dumps(rows), _LEVEL)


def _unpack(body: bytes) -> list[Line]:
    return [Line(*row) for row in orjson.loads(zlib.decompress(body))]


_HEADS = """
INSERT INTO registry.log_heads AS h (tenant, trial, next)
SELECT $1, t.trial, t.lines + 1 FROM unnest($2::uuid[], $3::bigint[]) AS t(trial, lines)
ON CONFLICT (trial) DO UPDATE SET next = h.next + excluded.next - 1
RETURNING trial, next
"""
_CHUNKS = """
INSERT INTO registry.log_chunks (day, tenant, trial, first, lines, run_number, body)
SELECT $1::date, $2::uuid, c.*
FROM unnest($3::uuid[], $4::bigint[], $5::int[], $6::int[], $7::bytea[]) AS c
"""
_PAGE = """
SELECT first, run_number, body FROM (
    SELECT first, run_number, body, sum(lines) OVER (ORDER BY first) - lines AS before FROM (
        SELECT first, lines, run_number, body FROM registry.log_chunks
        WHERE trial = $1 AND first > $2::bigint - $4::bigint AND first + lines > $2::bigint + 1 ORDER BY first LIMIT $3
    ) AS found
) AS counted WHERE before < $5::bigint ORDER BY first
"""
