"""The index of log lines that lie in the object store, and who may put there what: one attempt for a trial at a time.

An object counts once its row is `kept`; in the same transaction its lines leave the chunks, so that each line is in one place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from services.registry.core.logs.grams import slice_of
from services.registry.core.logs.lines import Layout, Packed
from services.registry.core.logs.matching import Matcher
from services.registry.store.retention import LOG_DAYS, RULES
from shared.driver import Driver


@dataclass(frozen=True, slots=True)
class Due:
    """A trial whose oldest chunks may be packed. `packed` is the first line that no object has."""

    tenant: UUID
    trial: UUID
    packed: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An object that is being made."""

    id: UUID
    due: Due


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Lines of a trial in the object store."""

    id: UUID
    tenant: UUID
    trial: UUID
    first: int
    lines: int
    slices: int | None = None
    """Where in it a search may find what it looks for, as bits (`grams`), `of_slices` of them; None: anywhere."""
    of_slices: int = 1

    @property
    def following(self) -> int:
        """The number behind its last line."""
        return self.first + self.lines

    layout: Layout | None = None
    """Where its parts lie; None: not known, it is read whole."""

    def parts_with(self, begin: int, end: int) -> list[int]:
        """Those of its `end` parts, from one on, in which what is looked for may be."""
        if self.slices is None:
            return list(range(begin, end))
        return [part for part in range(begin, end) if self.slices >> slice_of(part, end, self.of_slices) & 1]


@dataclass(frozen=True, slots=True)
class TrialLog:
    """Where a trial's lines are: those below `packed` in these objects, the others in chunks, `next` the number that comes."""

    trial: UUID
    next: int
    packed: int
    objects: tuple[StoredObject, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search over many trials stands: behind a line of a trial. Experiments that are newer come first."""

    experiment: UUID
    number: int
    trial: UUID
    line: int


async def load_due(driver: Driver, letters: int, rest: int, over_since: datetime, limit: int) -> list[Due]:
    """Return trials with so much text in chunks, and those that were over by then with `rest` of it."""
    rows = await driver.fetch(_DUE, letters, rest, over_since, limit)
    return [Due(row["tenant"], row["trial"], row["packed"]) for row in rows]


async def begin_attempt(driver: Driver, attempt: Attempt, now: datetime) -> bool:
    """Write the intent down; False where another attempt is under way."""
    due = attempt.due
    return bool(await driver.fetch(_BEGIN, attempt.id, due.tenant, due.trial, due.packed, now))


async def finish_attempt(driver: Driver, attempt: Attempt, packed: Packed) -> None:
    """Let the object count in place of the chunks. Raises LookupError where the attempt does not stand any more: roll back."""
    trial, first = attempt.due.trial, attempt.due.packed
    content, grams = packed.about, packed.grams
    following = first + content.lines
    passed = await driver.fetch(_PASS, trial, first, following, content.text_bytes)
    kept = passed and await driver.fetch(
        _KEEP, attempt.id, content.lines, len(packed.content), content.text_bytes, content.since_ms, content.until_ms,
        content.runs, content.ranks, content.levels, grams.bits, grams.slices, grams.filter,
        packed.layout.part_lines, packed.layout.offsets,
    )  # fmt: skip
    if not kept:
        raise LookupError(attempt.id)
    await driver.fetch(_DROP_CHUNKS, trial, first, following)


async def skip_lines(driver: Driver, due: Due, following: int | None) -> None:
    """Begin behind lines that are gone; where nothing is left (None), at the trial's next line."""
    await driver.fetch(_SKIP, due.trial, due.packed, following)


async def give_up(driver: Driver, attempt: UUID) -> None:
    """Let an object go that does not count."""
    await driver.fetch(
        "UPDATE registry.log_objects SET state = 'deleting' WHERE id = $1 AND state = 'writing'", attempt
    )


async def let_go(
    driver: Driver, now: datetime, attempt_for: timedelta, older_than: datetime | None, limit: int
) -> list[StoredObject]:
    """Write down which objects go: attempts that took too long, and lines that are all older than that; return all that are to go."""
    before_ms = None if older_than is None else int(older_than.timestamp() * 1000)
    await driver.fetch(_LET_GO, now - attempt_for, before_ms)
    rows = await driver.fetch(_GOING, limit)
    return [_object(row) for row in rows]


async def let_go_by_rules(driver: Driver, now: datetime) -> None:
    """Write down that objects go whose lines are all older than experiment, workspace or tenant keep them."""
    await driver.fetch(_LET_GO_BY_RULES, int(now.timestamp() * 1000))


async def load_kept(driver: Driver, objects: Sequence[UUID]) -> frozenset[UUID]:
    """Return those that still count."""
    rows = await driver.fetch(
        "SELECT id FROM registry.log_objects WHERE id = ANY($1::uuid[]) AND state = 'kept'", list(objects)
    )
    return frozenset(row["id"] for row in rows)


async def save_gone(driver: Driver, objects: Sequence[UUID]) -> None:
    """Forget objects that were deleted."""
    await driver.fetch(
        "DELETE FROM registry.log_objects WHERE id = ANY($1::uuid[]) AND state = 'deleting'", list(objects)
    )


async def load_logs(driver: Driver, after: Mapping[UUID, int], matcher: Matcher) -> list[TrialLog]:
    """Return where the lines of trials are behind those given, in the order of the trials; objects that cannot match are left out."""
    wanted = matcher.wanted
    rows = await driver.fetch(
        _LOGS, list(after), list(after.values()), wanted.run, wanted.rank, wanted.levels and list(wanted.levels),
        wanted.since_ms, wanted.until_ms, matcher.hashes, matcher.words,
    )  # fmt: skip
    found: dict[UUID, TrialLog] = {}
    objects: dict[UUID, list[StoredObject]] = {}
    for row in rows:
        found[row["trial"]] = TrialLog(row["trial"], row["next"], row["packed"], ())
        if row["id"] is not None:
            objects.setdefault(row["trial"], []).append(_object(row))
    return [
        TrialLog(one.trial, one.next, one.packed, tuple(objects.get(one.trial, ()))) for one in found.values()
    ]


async def load_places(
    driver: Driver,
    experiments: Sequence[UUID] | None,
    trials: Sequence[UUID] | None,
    begin: Place | None,
    limit: int,
) -> list[Place]:
    """Return the beginnings of the next logs, `begin`'s own first: newer experiments first, then by the trial's number."""
    at = (begin.experiment, begin.number, begin.trial) if begin else (None, None, None)
    rows = await driver.fetch(
        _PLACES, None if experiments is None else list(experiments), None if trials is None else list(trials), *at, limit
    )  # fmt: skip
    return [Place(row["experiment"], row["number"], row["id"], 0) for row in rows]


def _object(row: Mapping[str, object]) -> StoredObject:
    offsets = row.get("part_offsets")
    layout = Layout(row["part_lines"], tuple(offsets)) if offsets else None  # type: ignore[arg-type]
    found = row.get("found")
    slices = None if found is None else found & _ALL_SLICES  # type: ignore[operator]
    return StoredObject(
        row["id"], row["tenant"], row["trial"], row["first"], row["lines"],  # type: ignore[arg-type]
        slices, row.get("of_slices") or 1, layout,  # type: ignore[arg-type]
    )  # fmt: skip


_ALL_SLICES = 2**64 - 1
_DUE = """
SELECT h.tenant, h.trial, h.packed FROM registry.log_heads h
LEFT JOIN registry.trials t ON t.id = h.trial AND t.is_final AND t.final_at < $3
WHERE h.letters >= $1 OR (h.letters >= $2 AND t.id IS NOT NULL)
ORDER BY h.letters DESC LIMIT $4
"""
_BEGIN = """
INSERT INTO registry.log_objects (id, tenant, trial, first, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING id
"""
_PASS = """
UPDATE registry.log_heads SET packed = $3, letters = CASE WHEN $3 = next THEN 0 ELSE greatest(0, letters - $4) END
WHERE trial = $1 AND packed = $2 RETURNING trial
"""
_KEEP = """
UPDATE registry.log_objects SET state = 'kept', lines = $2, size_bytes = $3, text_bytes = $4, since_ms = $5,
    until_ms = $6, runs = $7, ranks = $8, levels = $9, part_bits = $10, part_slices = $11, part_grams = $12,
    part_lines = $13, part_offsets = $14, has_words = true
WHERE id = $1 AND state = 'writing' RETURNING id
"""
_DROP_CHUNKS = "DELETE FROM registry.log_chunks WHERE trial = $1 AND first >= $2 AND first < $3"
_SKIP = """
UPDATE registry.log_heads SET packed = coalesce($3, next), letters = CASE WHEN $3 IS NULL THEN 0 ELSE letters END
WHERE trial = $1 AND packed = $2
"""
_LET_GO = """
UPDATE registry.log_objects SET state = 'deleting'
WHERE (state = 'writing' AND created_at < $1) OR (state = 'kept' AND until_ms < $2)
"""
_LET_GO_BY_RULES = f"""
UPDATE registry.log_objects SET state = 'deleting'
WHERE state = 'kept' AND id IN (
    SELECT o.id FROM registry.log_objects o
    LEFT JOIN registry.trials tr ON tr.id = o.trial
    LEFT JOIN registry.experiments e ON e.id = tr.experiment
    {RULES.format(tenant="o.tenant", workspace="e.workspace")}
    WHERE o.state = 'kept' AND o.until_ms < $1::bigint - 86_400_000 * {LOG_DAYS}::bigint)
"""
_GOING = "SELECT id, tenant, trial, first, lines FROM registry.log_objects WHERE state = 'deleting' LIMIT $1"
_LOGS = """
WITH heads AS (
    SELECT w.place, w.line, h.trial, h.next, h.packed
    FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS w(trial, line, place)
    JOIN registry.log_heads h ON h.trial = w.trial
), near AS (
    SELECT o.*, coalesce(o.part_slices, o.slices) AS of_slices FROM heads h
    JOIN registry.log_objects o ON o.trial = h.trial AND o.state = 'kept' AND o.first + o.lines > h.line + 1
        AND ($3::bigint IS NULL OR $3 = ANY(o.runs)) AND ($4::bigint IS NULL OR $4 = ANY(o.ranks))
        AND ($5::text[] IS NULL OR $5 && o.levels)
        AND ($6::bigint IS NULL OR o.until_ms >= $6) AND ($7::bigint IS NULL OR o.since_ms < $7)
), shared AS (
    SELECT f.id, bit_and(('x' || encode(substr(f.grams, (hash >> (32 - f.bits))::int * f.width + 1, f.width), 'hex'))::varbit) AS bits
    FROM registry.log_filters f, unnest($9::bigint[] || $8::bigint[]) AS hash
    WHERE f.id IN (SELECT n.shared_filter FROM near n) GROUP BY f.id
), looked AS (
    SELECT n.*, coalesce(own.found, lpad(substring(s.bits FROM n.shared_from * 8 + 1 FOR greatest(8, n.of_slices))::text, 64, '0')::bit(64)::bigint) AS found
    FROM near n LEFT JOIN shared s ON s.id = n.shared_filter, LATERAL (
        SELECT coalesce(n.part_grams, n.sliced_grams) AS grams, coalesce(n.part_bits, n.slice_bits) AS bits
    ) AS f, LATERAL (
        SELECT bit_and(CASE WHEN n.of_slices > 8
            THEN ('x' || lpad(encode(substr(f.grams, (bit >> 3) + 1, n.of_slices / 8), 'hex'), 16, '0'))::bit(64)::bigint
            ELSE (get_byte(substr(f.grams, (bit >> 3) + 1, 1), 0) >> (bit & 7) & ((1 << n.of_slices) - 1))::bigint END) AS found
        FROM unnest(CASE WHEN n.has_words THEN $9::bigint[] || $8::bigint[] ELSE $8::bigint[] END) AS hash,
            LATERAL (SELECT (hash >> (32 - f.bits))::int * n.of_slices AS bit) AS b
        WHERE f.grams IS NOT NULL
    ) AS own
)
SELECT h.trial, h.next, h.packed, o.id, o.tenant, o.first, o.lines, o.part_lines, o.part_offsets, o.found, o.of_slices
FROM heads h LEFT JOIN looked o ON o.trial = h.trial AND o.found IS DISTINCT FROM 0
ORDER BY h.place, o.first
"""
_PLACES = """
SELECT t.experiment, coalesce(t.number, 0) AS number, t.id FROM registry.log_heads h
JOIN registry.trials t ON t.id = h.trial
WHERE ($1::uuid[] IS NULL OR t.experiment = ANY($1)) AND ($2::uuid[] IS NULL OR t.id = ANY($2))
    AND ($3::uuid IS NULL OR t.experiment < $3
        OR (t.experiment = $3 AND (coalesce(t.number, 0), t.id) >= ($4::int, $5::uuid)))
ORDER BY t.experiment DESC, coalesce(t.number, 0), t.id LIMIT $6
"""
