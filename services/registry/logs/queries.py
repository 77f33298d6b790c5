"""Queries on log lines: of one trial after a cursor, and searches over many trials."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from services.registry.concurrency import TenantConcurrencyLimit
from services.registry.logs.core.line_columns import KeptLine
from services.registry.logs.core.matching import LineQuery, Matcher
from services.registry.logs.reader import (
    FOUND_BYTES,
    LINE_BYTES,
    Found,
    LogReader,
    LogSearch,
    LogSegment,
    in_order,
    pieces_of,
)
from services.registry.logs.store import chunks as logs, objects as log_objects
from services.registry.logs.store.objects import SearchPosition, TrialLog
from services.registry.runs.store import trials
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.ids import ExperimentId, TenantId, TrialId
from shared.messages.logs import FoundLine, FoundLines, GetLogs, LineFilter, LogPage, SearchLogs, StoredLine

LINES_PER_PAGE = 5_000
LATE_LOGS = timedelta(seconds=3)
"""How long after a trial's end its last lines may still arrive."""
SEARCH_S = 2.0
"""Time limit of a search, which then returns what it has found; the next one continues."""
TRIALS_AT_ONCE = 200
SEARCHES_OF_ONE = 2
"""Concurrent searches per tenant; others wait, so that no tenant occupies all threads."""
_ALL_LINES = 2**62
_HERE = SearchPosition(UUID(int=0), 0, UUID(int=0), 0)

Item = TypeVar("Item")
Work = tuple[SearchPosition, LogSegment]
"""A segment of a trial's log, and its position in a search."""


class LogQueries:
    """Answers queries on logs."""

    def __init__(self, units: Units, reader: LogReader) -> None:
        self._units = units
        self._reader = reader
        self._limit = TenantConcurrencyLimit(SEARCHES_OF_ONE)

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetLogs: self.on_logs, SearchLogs: self.on_search}

    async def on_logs(self, ask: RequestContext, query: GetLogs) -> LogPage:
        """Return matching lines after the cursor, in order. `next` also advances past lines that do not match."""
        page, matcher = _Page(query.limit, ask), Matcher(_wanted(query, query.run_number))
        async with self._units.tenant(ask.tenant) as unit:
            over = await trials.load_end(unit.connection, query.trial_id)
            after = query.after
            if query.tail is not None and not matcher.is_choosy:
                after = max(after, await logs.load_head(unit.connection, query.trial_id) - 1 - query.tail)
            known = await log_objects.load_logs(unit.connection, {query.trial_id: after}, matcher)
            is_over = over is not None and over + LATE_LOGS <= unit.now
        log = known[0] if known else TrialLog(query.trial_id, 0, 0, ())
        if query.tail and matcher.is_choosy:
            after, missing = await self._seek(ask.tenant, log, query, matcher, page)
            if missing:
                return LogPage(lines=(), next=query.after, tail=missing, before=after + 1)
        upto = head = max(after, log.next - 1)
        search = LogSearch(matcher, page.limit, lambda: page.is_over)
        async for _, found in self._look(
            ask.tenant, _each((_HERE, piece) for piece in pieces_of(log, after)), search
        ):
            upto = page.take(_HERE, found)
            if page.is_over and upto < head:
                break
        else:
            upto = head
        return LogPage(
            lines=tuple(_stored_line(line) for _, line in page.lines),
            next=upto,
            ended=is_over and upto >= head,
        )

    async def _seek(
        self, tenant: TenantId, log: TrialLog, query: GetLogs, matcher: Matcher, page: "_Page"
    ) -> tuple[int, int]:
        """Return the line after which the last wanted ones start, and how many are still missing: none unless the time limit was reached."""
        before, missing = query.before or log.next, query.tail or 0
        pieces = reversed(pieces_of(log, query.after))
        works = _each((_HERE, piece) for piece in pieces if piece.first < before)
        search = LogSearch(matcher, page.limit, lambda: False, numbers_only=True)
        async for (_, piece), found in self._look(tenant, works, search):
            numbers = [number for number in found.numbers if number < before][-missing:]
            missing -= len(numbers)
            if not missing:
                return numbers[0] - 1, 0
            before = piece.first
            if page.is_over:
                return before - 1, missing
        return query.after, 0

    async def on_search(self, ask: RequestContext, query: SearchLogs) -> FoundLines:
        """Return matching lines, as many as fit or are found in time."""
        matcher = Matcher(_wanted(query))
        begin = _read_cursor(query.after)
        async with self._limit.hold(ask.tenant):
            page = _Page(query.limit, ask)
            following: str | None = None
            works = self._pieces(ask.tenant, query, begin, matcher)
            search = LogSearch(matcher, page.limit, lambda: page.is_over)
            async for (place, _), found in self._look(ask.tenant, works, search):
                line = page.take(place, found)
                if page.is_over:
                    following = _write_cursor(place, line)
                    break
        return FoundLines(lines=tuple(_found_line(*one) for one in page.lines), next=following)

    async def _look(
        self, tenant: TenantId, works: AsyncIterator[Work], search: LogSearch
    ) -> AsyncIterator[tuple[Work, Found]]:
        def look(work: Work) -> asyncio.Future[Found]:
            return asyncio.ensure_future(self._reader.look(tenant, work[1], search))

        async for work, found in in_order(works, look):
            yield work, found

    async def _pieces(
        self, tenant: TenantId, query: SearchLogs, begin: SearchPosition | None, matcher: Matcher
    ) -> AsyncIterator[Work]:
        """Yield what to search, in order. Logs of a few trials are planned at a time, the next ones during the search."""
        while True:
            async with self._units.tenant(tenant) as unit:
                positions = await log_objects.load_search_positions(
                    unit.connection, query.experiments, query.trials, begin, TRIALS_AT_ONCE
                )
            lines = {begin.trial: begin.line} if begin else {}
            by_trial = {one.trial: one for one in positions}

            for batch in _growing(positions):
                after = {one.trial: lines.get(one.trial, 0) for one in batch}
                async with self._units.tenant(tenant) as unit:
                    known = await log_objects.load_logs(unit.connection, after, matcher)
                for log in known:
                    for piece in pieces_of(log, after[log.trial]):
                        yield by_trial[log.trial], piece
            if len(positions) < TRIALS_AT_ONCE:
                return
            begin = replace(positions[-1], line=_ALL_LINES)
            # An empty segment: the search can stop here even if no segment of two hundred trials can match.
            yield begin, LogSegment(TrialLog(begin.trial, 0, 0, ()), _ALL_LINES)


class _Page:
    """Found lines, until there are enough lines or bytes, or the time limit is reached."""

    def __init__(self, limit: int, ask: RequestContext) -> None:
        self.limit = max(1, min(limit, LINES_PER_PAGE))
        self.lines: list[tuple[SearchPosition, KeptLine]] = []
        self._size = 0
        self._now = asyncio.get_running_loop().time
        self._until = self._now() + min(SEARCH_S, ask.deadline_s / 2)

    @property
    def is_over(self) -> bool:
        return len(self.lines) >= self.limit or self._size >= FOUND_BYTES or self._now() >= self._until

    def take(self, place: SearchPosition, found: Found) -> int:
        """Add lines that fit, and return the number of the last line scanned."""
        for line in found.lines:
            if len(self.lines) >= self.limit or self._size >= FOUND_BYTES:
                return line.number - 1
            self._size += len(line.text) + LINE_BYTES
            self.lines.append((place, line))
        return found.upto


def _wanted(query: LineFilter, run: int | None = None) -> LineQuery:
    return LineQuery(
        text=query.contains,
        pattern=query.pattern,
        run=run,
        rank=query.rank,
        stream=query.stream,
        level=query.level,
        since_ms=query.since_ms,
        until_ms=query.until_ms,
    )


def _stored_line(line: KeptLine) -> StoredLine:
    return StoredLine(
        cursor=line.number,
        run_number=line.run,
        rank=line.rank,
        stream=line.stream,
        level=line.level,
        time_ms=line.time_ms,
        text=line.text,
    )


def _found_line(place: SearchPosition, line: KeptLine) -> FoundLine:
    return FoundLine(
        **_stored_line(line).model_dump(),
        experiment_id=ExperimentId(place.experiment),
        trial_id=TrialId(place.trial),
    )


def _write_cursor(place: SearchPosition, line: int) -> str:
    return f"{place.experiment}|{place.number}|{place.trial}|{line}"


def _read_cursor(text: str | None) -> SearchPosition | None:
    if text is None:
        return None
    try:
        experiment, number, trial, line = text.split("|")
        return SearchPosition(UUID(experiment), int(number), UUID(trial), int(line))
    except ValueError as error:
        raise Rejected("bad_cursor", "the cursor is not valid; start without one", place="after") from error


def _growing(positions: Sequence[SearchPosition]) -> Iterator[Sequence[SearchPosition]]:
    """Yield one, then four, sixteen and so on: the first lines are found soon, and many trials need few statements."""
    begin, size = 0, 1
    while begin < len(positions):
        yield positions[begin : begin + size]
        begin, size = begin + size, size * 4


async def _each(items: Iterable[Item]) -> AsyncIterator[Item]:
    for item in items:
        yield item
