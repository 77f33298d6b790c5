"""Lines of trials, behind a cursor."""

from datetime import timedelta

from services.registry.store import logs, trials
from shared.bus import Ask, Units
from shared.bus.responder import Answer, Question
from shared.driver import Driver
from shared.messages.logs import GetLogs, LogPage, StoredLine

LINES_PER_PAGE = 5_000
LINES_PER_READ = 1_000
READS_PER_PAGE = 50
BYTES_PER_PAGE = 300 * 1024
LATE_LOGS = timedelta(seconds=3)
"""How long after a trial's end its last lines may still be on their way."""


class LogQueries:
    """Answers what is asked of logs."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {GetLogs: self.on_logs}

    async def on_logs(self, ask: Ask, query: GetLogs) -> LogPage:
        """Lines behind the cursor that match, in order; `next` moves on also over those that do not match."""
        limit = max(1, min(query.limit, LINES_PER_PAGE))
        async with self._units.tenant(ask.tenant) as unit:
            driver = Driver.of(unit.connection)
            head = await logs.load_head(driver, query.trial_id)
            over = await trials.load_end(unit.connection, query.trial_id)
            following = max(query.after, head - 1 - query.tail) if query.tail is not None else query.after
            page = _Page(query, limit)
            for _ in range(READS_PER_PAGE):
                placed = await logs.load_chunks(driver, query.trial_id, following, max(limit, LINES_PER_READ))
                following = page.take(placed, following)
                if page.is_full or not placed:
                    break
            is_over = over is not None and over + LATE_LOGS <= unit.now
        return LogPage(lines=tuple(page.lines), next=following, ended=is_over and following >= head - 1)


class _Page:
    """Lines that match, until there are enough of them or of their bytes."""

    def __init__(self, query: GetLogs, limit: int) -> None:
        self.lines: list[StoredLine] = []
        self._query = query
        self._limit = limit
        self._size = 0

    @property
    def is_full(self) -> bool:
        return len(self.lines) >= self._limit or self._size >= BYTES_PER_PAGE

    def take(self, placed: list[logs.Placed], after: int) -> int:
        """Take what fits of these lines, and return the cursor behind the last one that was looked at."""
        for one in placed:
            if self.is_full:
                break
            after = one.cursor
            if _matches(one, self._query):
                self._size += len(one.line.text) + 100
                self.lines.append(_stored_line(one))
        return after


def _stored_line(one: logs.Placed) -> StoredLine:
    return StoredLine(
        cursor=one.cursor,
        run_number=one.run_number,
        rank=one.line.rank,
        stream=one.line.stream,
        level=one.line.level,
        time_ms=one.line.time_ms,
        text=one.line.text,
    )


def _matches(one: logs.Placed, query: GetLogs) -> bool:
    return (
        (query.rank is None or one.line.rank == query.rank)
        and (query.run_number is None or one.run_number == query.run_number)
        and (query.stream is None or one.line.stream == query.stream)
        and (query.contains is None or query.contains in one.line.text)
    )
