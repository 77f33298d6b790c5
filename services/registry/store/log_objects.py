"""The index of log lines that lie in the object store, and who may put there what: one attempt for a trial at a time.

An object counts once its row is `kept`; in the same transaction its lines leave the chunks, so that each line is in one place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Update,
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

from services.registry.core.logs.grams import slice_of
from services.registry.core.logs.lines import Layout, Packed
from services.registry.core.logs.matching import Matcher
from services.registry.store.arrays import among
from services.registry.store.report_tables import log_chunks, log_heads, log_objects
from services.registry.store.retention import LOG_DAYS, with_rules
from services.registry.store.tables import experiments, trials
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


async def load_due(
    connection: AsyncConnection, letters: int, rest: int, over_since: datetime, limit: int
) -> list[Due]:
    """Return trials with so much text in chunks, and those that were over by then with `rest` of it."""
    heads = log_heads.c
    is_over = (trials.c.id == heads.trial) & trials.c.is_final & (trials.c.final_at < over_since)
    due = (
        select(heads.tenant, heads.trial, heads.packed)
        .select_from(log_heads.outerjoin(trials, is_over))
        .where((heads.letters >= letters) | (heads.letters >= rest) & trials.c.id.is_not(None))
        .order_by(heads.letters.desc())
        .limit(limit)
    )
    return [Due(*row) for row in await connection.execute(due)]


async def begin_attempt(connection: AsyncConnection, attempt: Attempt, now: datetime) -> bool:
    """Write the intent down; False where another attempt is under way."""
    due = attempt.due
    made = insert(log_objects).values(
        id=attempt.id, tenant=due.tenant, trial=due.trial, first=due.packed, created_at=now
    )
    made = made.on_conflict_do_nothing()
    return (await connection.execute(made.returning(log_objects.c.id))).first() is not None


async def finish_attempt(connection: AsyncConnection, attempt: Attempt, packed: Packed) -> None:
    """Let the object count in place of the chunks. Raises LookupError where the attempt does not stand any more: roll back."""
    trial, first = attempt.due.trial, attempt.due.packed
    content, grams = packed.about, packed.grams
    following = first + content.lines
    heads = log_heads.c
    left = case((heads.next == following, 0), else_=func.greatest(0, heads.letters - content.text_bytes))
    passed = _passing(attempt.due).values(packed=following, letters=left)
    kept = (
        update(log_objects)
        .where(log_objects.c.id == attempt.id, log_objects.c.state == "writing")
        .values(
            state="kept",
            lines=content.lines,
            size_bytes=len(packed.content),
            text_bytes=content.text_bytes,
            since_ms=content.since_ms,
            until_ms=content.until_ms,
            runs=content.runs,
            ranks=content.ranks,
            levels=content.levels,
            part_bits=grams.bits,
            part_slices=grams.slices,
            part_grams=grams.filter,
            part_lines=packed.layout.part_lines,
            part_offsets=packed.layout.offsets,
            has_words=True,
        )
    )
    for change in (passed, kept):
        if not (await connection.execute(change)).rowcount:
            raise LookupError(attempt.id)
    chunks = log_chunks.c
    gone = delete(log_chunks).where(chunks.trial == trial, chunks.first >= first, chunks.first < following)
    await connection.execute(gone)


async def skip_lines(connection: AsyncConnection, due: Due, following: int | None) -> None:
    """Begin behind lines that are gone; where nothing is left (None), at the trial's next line."""
    if following is None:
        await connection.execute(_passing(due).values(packed=log_heads.c.next, letters=0))
    else:
        await connection.execute(_passing(due).values(packed=following))


async def give_up(connection: AsyncConnection, attempt: UUID) -> None:
    """Let an object go that does not count."""
    objects = log_objects.c
    unkept = update(log_objects).where(objects.id == attempt, objects.state == "writing")
    await connection.execute(unkept.values(state="deleting"))


async def let_go(
    connection: AsyncConnection,
    now: datetime,
    attempt_for: timedelta,
    older_than: datetime | None,
    limit: int,
) -> list[StoredObject]:
    """Write down which objects go: attempts that took too long, and lines that are all older than that; return all that are to go."""
    objects = log_objects.c
    is_going = (objects.state == "writing") & (objects.created_at < now - attempt_for)
    if older_than is not None:
        is_going |= (objects.state == "kept") & (objects.until_ms < int(older_than.timestamp() * 1000))
    await connection.execute(update(log_objects).where(is_going).values(state="deleting"))
    going = select(objects.id, objects.tenant, objects.trial, objects.first, objects.lines)
    rows = await connection.execute(going.where(objects.state == "deleting").limit(limit))
    return [StoredObject(*row) for row in rows]


async def let_go_by_rules(connection: AsyncConnection, now: datetime) -> None:
    """Write down that objects go whose lines are all older than experiment, workspace or tenant keep them."""
    aged = log_objects.alias("aged")
    of_experiment = aged.outerjoin(trials, trials.c.id == aged.c.trial).outerjoin(
        experiments, experiments.c.id == trials.c.experiment
    )
    oldest_ms = literal(int(now.timestamp() * 1000), BigInteger) - _DAY_MS * cast(LOG_DAYS, BigInteger)
    outdated = (
        select(aged.c.id)
        .select_from(with_rules(of_experiment, aged.c.tenant))
        .where(aged.c.state == "kept", aged.c.until_ms < oldest_ms)
    )
    going = update(log_objects).where(log_objects.c.state == "kept", log_objects.c.id.in_(outdated))
    await connection.execute(going.values(state="deleting"))


async def load_kept(connection: AsyncConnection, objects: Sequence[UUID]) -> frozenset[UUID]:
    """Return those that still count."""
    kept = select(log_objects.c.id).where(among(log_objects.c.id, objects), log_objects.c.state == "kept")
    return frozenset(await connection.scalars(kept))


async def save_gone(connection: AsyncConnection, objects: Sequence[UUID]) -> None:
    """Forget objects that were deleted."""
    gone = delete(log_objects).where(among(log_objects.c.id, objects), log_objects.c.state == "deleting")
    await connection.execute(gone)


async def load_logs(
    connection: AsyncConnection, after: Mapping[UUID, int], matcher: Matcher
) -> list[TrialLog]:
    """Return where the lines of trials are behind those given, in the order of the trials; objects that cannot match are left out."""
    wanted = matcher.wanted
    rows = await Driver.of(connection).fetch(
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
    connection: AsyncConnection,
    of_experiments: Sequence[UUID] | None,
    of_trials: Sequence[UUID] | None,
    begin: Place | None,
    limit: int,
) -> list[Place]:
    """Return the beginnings of the next logs, `begin`'s own first: newer experiments first, then by the trial's number."""
    number = func.coalesce(trials.c.number, 0)
    places = select(trials.c.experiment, number, trials.c.id).join(
        log_heads, log_heads.c.trial == trials.c.id
    )
    if of_experiments is not None:
        places = places.where(among(trials.c.experiment, of_experiments))
    if of_trials is not None:
        places = places.where(among(trials.c.id, of_trials))
    if begin is not None:
        is_behind = tuple_(number, trials.c.id) >= (begin.number, begin.trial)
        places = places.where(
            (trials.c.experiment < begin.experiment) | (trials.c.experiment == begin.experiment) & is_behind
        )
    ordered = places.order_by(trials.c.experiment.desc(), number, trials.c.id).limit(limit)
    return [Place(*row, 0) for row in await connection.execute(ordered)]


def _passing(due: Due) -> Update:
    """The head of a trial, unless another attempt has moved it meanwhile."""
    return update(log_heads).where(log_heads.c.trial == due.trial, log_heads.c.packed == due.packed)


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
_DAY_MS = 86_400_000
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
