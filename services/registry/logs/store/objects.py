"""Index of log objects in the object store, with one packing attempt per trial at a time.

An object counts once its row is `kept`; the same transaction removes its lines from the chunks, so that each line exists once.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    LargeBinary,
    Row,
    ScalarSelect,
    Text,
    Update,
    and_,
    any_,
    case,
    cast,
    column,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.logs.core.line_columns import Layout, Packed
from services.registry.logs.core.matching import LineQuery, Matcher
from services.registry.logs.core.ngram_filter import slice_of, slices_with
from services.registry.retention.store import LOG_DAYS, with_rules
from services.registry.store.report_tables import log_chunks, log_objects, log_positions
from services.registry.store.tables import experiments, trials
from shared.database.statements import among, rows_given


@dataclass(frozen=True, slots=True)
class PackableTrial:
    """A trial whose oldest chunks may be packed, from line `first_unpacked`."""

    tenant: UUID
    trial: UUID
    first_unpacked: int


@dataclass(frozen=True, slots=True)
class PackAttempt:
    """An object being created."""

    id: UUID
    due: PackableTrial


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Lines of a trial in the object store."""

    id: UUID
    tenant: UUID
    trial: UUID
    first: int
    lines: int
    slices: int | None = None
    """Slices in which a search may match, as bits (`grams`), out of `of_slices`; None: all."""
    of_slices: int = 1
    layout: Layout | None = None
    """Location of its parts; None: unknown, the object is read whole."""

    @property
    def following(self) -> int:
        """Number after its last line."""
        return self.first + self.lines

    def parts_behind(self, after: int, part_lines: int, parts: int) -> list[int]:
        """Return the indices of its parts that may contain matches after a line."""
        behind = range(max(0, after + 1 - self.first) // part_lines, parts)
        if self.slices is None:
            return list(behind)
        return [part for part in behind if self.slices >> slice_of(part, parts, self.of_slices) & 1]


@dataclass(frozen=True, slots=True)
class TrialLog:
    """Where a trial's lines are: those below `first_unpacked` in these objects, the others in chunks. `next`: the next line's number."""

    trial: UUID
    next: int
    first_unpacked: int
    objects: tuple[StoredObject, ...]


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """Position of a search over many trials: after a line of a trial. Newer experiments come first."""

    experiment: UUID
    number: int
    trial: UUID
    line: int


async def load_due(
    connection: AsyncConnection, min_bytes: int, rest: int, over_since: datetime, limit: int
) -> list[PackableTrial]:
    """Return trials with at least `min_bytes` bytes of text in chunks, and those that ended by then with at least `rest` bytes."""
    heads = log_positions.c
    is_over = (trials.c.id == heads.trial) & trials.c.is_final & (trials.c.final_at < over_since)
    due = (
        select(heads.tenant, heads.trial, heads.first_unpacked)
        .select_from(log_positions.outerjoin(trials, is_over))
        .where(
            (heads.unpacked_bytes >= min_bytes) | (heads.unpacked_bytes >= rest) & trials.c.id.is_not(None)
        )
        .order_by(heads.unpacked_bytes.desc())
        .limit(limit)
    )
    return [PackableTrial(*row) for row in await connection.execute(due)]


async def begin_attempt(connection: AsyncConnection, attempt: PackAttempt, now: datetime) -> bool:
    """Record the intent; False if another attempt is in progress."""
    due = attempt.due
    made = insert(log_objects).values(
        id=attempt.id, tenant=due.tenant, trial=due.trial, first=due.first_unpacked, created_at=now
    )
    made = made.on_conflict_do_nothing()
    return (await connection.execute(made.returning(log_objects.c.id))).first() is not None


async def finish_attempt(connection: AsyncConnection, attempt: PackAttempt, packed: Packed) -> None:
    """Replace the chunks by the object. Raises LookupError if the attempt is no longer valid: roll back."""
    trial, first = attempt.due.trial, attempt.due.first_unpacked
    content, grams = packed.about, packed.grams
    following = first + content.lines
    heads = log_positions.c
    left = case(
        (heads.next == following, 0), else_=func.greatest(0, heads.unpacked_bytes - content.text_bytes)
    )
    passed = _advance(attempt.due).values(first_unpacked=following, unpacked_bytes=left)
    kept = (
        update(log_objects)
        .where(log_objects.c.id == attempt.id, log_objects.c.state == "writing")
        .values(
            state="stored",
            lines=content.lines,
            size_bytes=len(packed.content),
            text_bytes=content.text_bytes,
            since_ms=content.since_ms,
            until_ms=content.until_ms,
            runs=content.runs,
            ranks=content.ranks,
            levels=content.levels,
            filter_bits=grams.bits,
            filter_slices=grams.slices,
            ngram_filter=grams.filter,
            batch_lines=packed.layout.part_lines,
            batch_offsets=packed.layout.offsets,
        )
    )
    for change in (passed, kept):
        if not (await connection.execute(change)).rowcount:
            raise LookupError(attempt.id)
    chunks = log_chunks.c
    packed_chunks = (chunks.trial == trial, chunks.first >= first, chunks.first < following)
    await connection.execute(delete(log_chunks).where(*packed_chunks))


async def skip_lines(connection: AsyncConnection, due: PackableTrial, following: int | None) -> None:
    """Continue after deleted lines; if none is left (None), at the trial's next line."""
    if following is None:
        await connection.execute(_advance(due).values(first_unpacked=log_positions.c.next, unpacked_bytes=0))
    else:
        await connection.execute(_advance(due).values(first_unpacked=following))


async def give_up(connection: AsyncConnection, attempt: UUID) -> None:
    """Mark the object of an unfinished attempt for deletion."""
    objects = log_objects.c
    unkept = update(log_objects).where(objects.id == attempt, objects.state == "writing")
    await connection.execute(unkept.values(state="deleting"))


async def mark_deleting(
    connection: AsyncConnection,
    now: datetime,
    attempt_for: timedelta,
    older_than: datetime | None,
    limit: int,
) -> list[StoredObject]:
    """Mark objects for deletion: dead attempts, and objects whose lines are all older than that; return all marked ones."""
    objects = log_objects.c
    is_going = (objects.state == "writing") & (objects.created_at < now - attempt_for)
    if older_than is not None:
        is_going |= (objects.state == "stored") & (objects.until_ms < int(older_than.timestamp() * 1000))
    await connection.execute(update(log_objects).where(is_going).values(state="deleting"))
    going = select(objects.id, objects.tenant, objects.trial, objects.first, objects.lines)
    rows = await connection.execute(going.where(objects.state == "deleting").limit(limit))
    return [StoredObject(*row) for row in rows]


async def mark_expired_deleting(connection: AsyncConnection, now: datetime) -> None:
    """Mark objects for deletion whose lines are all older than the retention of experiment, workspace or tenant."""
    aged = log_objects.alias("aged")
    of_experiment = aged.outerjoin(trials, trials.c.id == aged.c.trial).outerjoin(
        experiments, experiments.c.id == trials.c.experiment
    )
    oldest_ms = literal(int(now.timestamp() * 1000), BigInteger) - _DAY_MS * cast(LOG_DAYS, BigInteger)
    outdated = (
        select(aged.c.id)
        .select_from(with_rules(of_experiment, aged.c.tenant))
        .where(aged.c.state == "stored", aged.c.until_ms < oldest_ms)
    )
    going = update(log_objects).where(log_objects.c.state == "stored", log_objects.c.id.in_(outdated))
    await connection.execute(going.values(state="deleting"))


async def remove_deleted(connection: AsyncConnection, objects: Sequence[UUID]) -> None:
    """Delete the rows of deleted objects."""
    deleted = delete(log_objects).where(among(log_objects.c.id, objects), log_objects.c.state == "deleting")
    await connection.execute(deleted)


async def load_logs(
    connection: AsyncConnection, after: Mapping[UUID, int], matcher: Matcher
) -> list[TrialLog]:
    """Return where the lines of trials after the given ones are, in the order of the trials; objects that cannot match are left out."""
    given = rows_given([log_positions.c.trial, column("line", BigInteger)], after.items(), numbered="place")
    heads, objects = log_positions.c, log_objects.c
    joined = given.join(log_positions, heads.trial == given.c.trial).outerjoin(
        log_objects,
        and_(
            objects.trial == heads.trial,
            objects.first + objects.lines > given.c.line + 1,
            *_conditions(matcher.wanted),
        ),
    )
    of_object = (objects.id, objects.tenant, objects.first, objects.lines)
    of_parts = (objects.batch_lines, objects.batch_offsets, objects.filter_bits, objects.filter_slices)
    logs = (
        select(heads.trial, heads.next, heads.first_unpacked, *of_object, *of_parts)
        .add_columns(_filter_bytes(matcher.hashes).label("filter_bytes"))
        .select_from(joined)
        .order_by(given.c.place, objects.first)
    )
    found: dict[UUID, TrialLog] = {}
    parts: dict[UUID, list[StoredObject]] = defaultdict(list)
    for row in await connection.execute(logs):
        found[row.trial] = TrialLog(row.trial, row.next, row.first_unpacked, ())
        if row.id is not None and (stored := _object(row, matcher.hashes)).slices != 0:
            parts[row.trial].append(stored)
    return [replace(one, objects=tuple(parts[one.trial])) for one in found.values()]


async def load_search_positions(
    connection: AsyncConnection,
    of_experiments: Sequence[UUID] | None,
    of_trials: Sequence[UUID] | None,
    begin: SearchPosition | None,
    limit: int,
) -> list[SearchPosition]:
    """Return the start positions of the next logs, beginning with `begin`'s: newer experiments first, then by trial number."""
    number = func.coalesce(trials.c.number, 0)
    positions = select(trials.c.experiment, number, trials.c.id).join(
        log_positions, log_positions.c.trial == trials.c.id
    )
    if of_experiments is not None:
        positions = positions.where(among(trials.c.experiment, of_experiments))
    if of_trials is not None:
        positions = positions.where(among(trials.c.id, of_trials))
    if begin is not None:
        is_behind = tuple_(number, trials.c.id) >= (begin.number, begin.trial)
        positions = positions.where(
            (trials.c.experiment < begin.experiment) | (trials.c.experiment == begin.experiment) & is_behind
        )
    ordered = positions.order_by(trials.c.experiment.desc(), number, trials.c.id).limit(limit)
    return [SearchPosition(*row, 0) for row in await connection.execute(ordered)]


def _advance(due: PackableTrial) -> Update:
    """Update the head of a trial unless another attempt has moved it meanwhile."""
    return update(log_positions).where(
        log_positions.c.trial == due.trial, log_positions.c.first_unpacked == due.first_unpacked
    )


def _conditions(wanted: LineQuery) -> list[ColumnElement[bool]]:
    """Return the conditions for objects that may have matching lines."""
    objects = log_objects.c
    conditions = [objects.state == "stored"]
    if wanted.run is not None:
        conditions.append(literal(wanted.run, BigInteger) == any_(objects.runs))
    if wanted.rank is not None:
        conditions.append(literal(wanted.rank, BigInteger) == any_(objects.ranks))
    if wanted.levels is not None:
        conditions.append(objects.levels.overlap(literal(list(wanted.levels), ARRAY(Text))))
    if wanted.since_ms is not None:
        conditions.append(objects.until_ms >= wanted.since_ms)
    if wanted.until_ms is not None:
        conditions.append(objects.since_ms < wanted.until_ms)
    return conditions


def _filter_bytes(hashes: Sequence[int]) -> ScalarSelect[Any]:
    """Return the bytes of an object's filter at the position of each hash."""
    objects = log_objects.c
    asked = rows_given([column("hash", BigInteger)], [(each,) for each in hashes], numbered="place")
    place = asked.c.hash.bitwise_rshift(32 - objects.filter_bits)
    begin = (place * objects.filter_slices).bitwise_rshift(literal(3, Integer))
    width = func.greatest(1, objects.filter_slices.bitwise_rshift(3))
    found = func.substr(objects.ngram_filter, cast(begin, Integer) + 1, width)
    found_bytes = func.array_agg(aggregate_order_by(found, asked.c.place), type_=ARRAY(LargeBinary))
    return select(found_bytes).correlate(log_objects).scalar_subquery()


def _object(row: Row[*tuple[Any, ...]], hashes: Sequence[int]) -> StoredObject:
    layout = Layout(row.batch_lines, tuple(row.batch_offsets)) if row.batch_offsets else None
    stored = StoredObject(row.id, row.tenant, row.trial, row.first, row.lines, layout=layout)
    if (
        not row.filter_bytes or row.filter_bytes[0] is None
    ):  # no text to search for, or an object without a filter
        return stored
    slices = slices_with(hashes, row.filter_bytes, row.filter_bits, row.filter_slices)
    return replace(stored, slices=slices, of_slices=row.filter_slices)


_DAY_MS = 86_400_000
