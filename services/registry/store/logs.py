"""Log lines as they arrive: compressed chunks, numbered without gaps through a trial in the order of their commits.

Older ones lie in the object store (`log_objects`).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import orjson

from services.registry.core.logs.lines import Line, Row
from services.registry.store.retention import LOG_DAYS, RULES
from shared.driver import Driver

CHUNK_LINES = 10_000
"""No chunk holds more: a batch of 512 KiB has fewer, and a page finds its first chunk by that."""
MOST_CHUNKS = 1_000
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one run that were committed together."""

    trial: UUID
    run_number: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk that was read again; `first` is the number of its first line in the trial, counted from 1."""

    first: int
    lines: int
    run_number: int
    body: bytes

    @property
    def following(self) -> int:
        """The number behind its last line."""
        return self.first + self.lines

    def rows(self) -> list[Row]:
        """Its lines."""
        rows: list[Row] = orjson.loads(zlib.decompress(self.body))
        return rows


async def save_chunks(driver: Driver, tenant: UUID, day: date, chunks: Sequence[Chunk]) -> dict[UUID, int]:
    """Store chunks behind each other and return each trial's next number.

    The head's row lock makes the order of numbers the order of commits: who follows by number misses nothing.
    """
    counts: dict[UUID, int] = {}
    letters: dict[UUID, int] = {}
    for chunk in chunks:
        counts[chunk.trial] = counts.get(chunk.trial, 0) + len(chunk.lines)
        letters[chunk.trial] = letters.get(chunk.trial, 0) + sum(
            len(line.text.encode()) for line in chunk.lines
        )
    trials = sorted(counts)
    heads = await driver.fetch(
        _HEADS, tenant, trials, [counts[trial] for trial in trials], [letters[trial] for trial in trials]
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


async def load_head(driver: Driver, trial: UUID) -> int:
    """Return the number that the trial's next line will get."""
    rows = await driver.fetch("SELECT next FROM registry.log_heads WHERE trial = $1", trial)
    return rows[0]["next"] if rows else 1


async def load_chunks(driver: Driver, trial: UUID, after: int, lines: int) -> list[StoredChunk]:
    """Return chunks with lines numbered above `after`, in order: as many as hold about so many of them.

    Lines may be missing where they lie in the object store meanwhile, or are gone.
    """
    rows = await driver.fetch(_PAGE, trial, after, min(lines, MOST_CHUNKS), CHUNK_LINES, lines)
    return [StoredChunk(row["first"], row["lines"], row["run_number"], row["body"]) for row in rows]


async def delete_outdated(driver: Driver, today: date, most: int) -> int:
    """Delete at most `most` chunks that came longer ago than experiment, workspace or tenant keep lines; returns how many."""
    return len(await driver.fetch(_DELETE_OUTDATED, today, most))


def _pack(lines: Sequence[Line]) -> bytes:
    rows = [(line.rank, line.stream, line.level, line.time_ms, line.text) for line in lines]
    return zlib.compress(orjson.dumps(rows), _LEVEL)


_HEADS = """
INSERT INTO registry.log_heads AS h (tenant, trial, next, letters)
SELECT $1, t.trial, t.lines + 1, t.letters FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS t(trial, lines, letters)
ON CONFLICT (trial) DO UPDATE SET next = h.next + excluded.next - 1, letters = h.letters + excluded.letters
RETURNING trial, next
"""
_CHUNKS = """
INSERT INTO registry.log_chunks (day, tenant, trial, first, lines, run_number, body)
SELECT $1::date, $2::uuid, c.*
FROM unnest($3::uuid[], $4::bigint[], $5::int[], $6::int[], $7::bytea[]) AS c
"""
_PAGE = """
SELECT first, lines, run_number, body FROM (
    SELECT first, lines, run_number, body, sum(lines) OVER (ORDER BY first) - lines AS before FROM (
        SELECT first, lines, run_number, body FROM registry.log_chunks
        WHERE trial = $1 AND first > $2::bigint - $4::bigint AND first + lines > $2::bigint + 1 ORDER BY first LIMIT $3
    ) AS found
) AS counted WHERE before < $5::bigint ORDER BY first
"""
_DELETE_OUTDATED = f"""
DELETE FROM registry.log_chunks c USING (
    SELECT c.day, c.trial, c.first FROM registry.log_chunks c
    LEFT JOIN registry.trials tr ON tr.id = c.trial
    LEFT JOIN registry.experiments e ON e.id = tr.experiment
    {RULES.format(tenant="c.tenant", workspace="e.workspace")}
    WHERE c.day < $1::date - {LOG_DAYS} LIMIT $2
) AS old
WHERE c.day = old.day AND c.trial = old.trial AND c.first = old.first RETURNING c.first
"""
