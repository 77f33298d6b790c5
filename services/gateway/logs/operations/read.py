"""List and follow logs. The registry answers per trial; an experiment's log is the logs of its trials in sequence."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments.find import experiment_in, find_experiment
from services.gateway.logs.render import render_line
from services.gateway.logs.schema import (
    FollowExperimentLogsRequest,
    FollowTrialLogsRequest,
    LineFilter,
    ListExperimentLogsRequest,
    ListTrialLogsRequest,
    LogFilter,
    LogLine,
    LogPage,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.events.stream_timeouts import FinalDataTimeout
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from shared.filters.fields import Position
from shared.ids import TrialId
from shared.messages import logs as messages
from shared.messages.logs import GetLogs, StoredLine

_FOLLOWED = 500
_TRIALS_AT_ONCE = 200
_LOOKED_S = 2.0
"""Time limit for one page of an experiment's log; no further trial is read after it."""


@dataclass(slots=True)
class _Trial:
    """A trial whose log is read, and the position: after line `after`; with `tail`, at the last `tail` matching lines before line `before`."""

    id: UUID
    number: int
    after: int = 0
    tail: int | None = None
    before: int | None = None
    ended: bool = False

    @property
    def place(self) -> Position:
        """The position, as stored in cursors."""
        return [self.after, self.tail, self.before]

    def move(self, page: messages.LogPage) -> bool:
        """Advance past a page and return whether more may follow, which is also possible after an empty page that hit its time limit."""
        has_more = (page.next > self.after or page.tail is not None) and not page.ended
        self.after, self.tail, self.before = max(self.after, page.next), page.tail, page.before
        self.ended = page.ended
        return has_more


async def list_trial_logs(call: Call, request: ListTrialLogsRequest) -> LogPage:
    """List lines of a trial's log, oldest first."""
    position = read_cursor(call, request, request.cursor)
    row = await find_trial(call, request.trial)
    trial = _trial_at(row, position or [0, request.tail])
    page = await _ask(call, trial, request, request.limit)
    lines = [_line(trial, line) for line in page.lines]
    following = make_cursor(call, request, trial.place) if trial.move(page) else None
    return LogPage(items=lines, next_cursor=following)


async def list_experiment_logs(call: Call, request: ListExperimentLogsRequest) -> LogPage:
    """List log lines of an experiment's trials, trial by trial."""
    position = read_cursor(call, request, request.cursor)
    begin: Position = [0, request.tail]
    number, *place = position or [0, *begin]
    experiment = await find_experiment(call, request.experiment)
    lines: list[LogLine] = []
    now = call.dependencies.clock.monotonic
    until_s = now() + _LOOKED_S
    while len(lines) < request.limit and now() < until_s:
        async with call.read() as connection:
            rows = await trial_store.load_trials(
                connection, experiment.id, trial_store.ANY_STATE, int(str(number)) - 1, 1
            )
        if not rows:
            return LogPage(items=lines)
        trial = _trial_at(rows[0], place if rows[0].number == number else begin)
        page = await _ask(call, trial, request, request.limit - len(lines))
        lines += [_line(trial, line) for line in page.lines]
        number, place = (trial.number, trial.place) if trial.move(page) else (trial.number + 1, begin)
    return LogPage(items=lines, next_cursor=make_cursor(call, request, [number, *place]))


async def follow_trial_logs(call: Call, request: FollowTrialLogsRequest) -> AsyncIterator[LogLine]:
    """Stream a trial's log until the trial ends."""
    row = await find_trial(call, request.trial)
    trial = _Trial(row.id, row.number, tail=request.tail)
    _resume(call.last_event_id or request.after, [trial])
    timeout = FinalDataTimeout(call)
    async with call.dependencies.feed.waiting_for(call.tenant, "logs", trial.id) as waiter:
        while True:
            final = (await find_trial(call, str(trial.id))).last_event["final"]
            async for line in _new_lines(call, trial, request):
                yield line
            if trial.ended or timeout.has_expired(final):
                return
            await waiter.wait(call.dependencies.timeouts.poll_s)


async def follow_experiment_logs(call: Call, request: FollowExperimentLogsRequest) -> AsyncIterator[LogLine]:
    """Stream the logs of an experiment's trials until the experiment ends."""
    trials: dict[int, _Trial] = {}
    after = call.last_event_id or request.after
    timeout = FinalDataTimeout(call)
    async with call.dependencies.feed.waiting_for(call.tenant, "logs", None) as waiter:
        while True:
            async with call.read() as connection:
                experiment = await experiment_in(connection, request.experiment)
                rows = await trial_store.load_trials(
                    connection, experiment.id, trial_store.ANY_STATE, _last(trials), _TRIALS_AT_ONCE
                )
            for row in rows:
                trials[row.number] = _Trial(row.id, row.number, tail=request.tail)
            if after and trials:
                _resume(after, list(trials.values()))
                after = None
            for trial in trials.values():
                if not trial.ended:
                    async for line in _new_lines(call, trial, request):
                        yield line
            if len(rows) == _TRIALS_AT_ONCE:
                continue
            if experiment.final and all(trial.ended for trial in trials.values()):
                return
            if timeout.has_expired(experiment.final):
                return
            await waiter.wait(call.dependencies.timeouts.poll_s)


async def _new_lines(call: Call, trial: _Trial, request: LogFilter) -> AsyncIterator[LogLine]:
    has_more = True
    while has_more:
        page = await _ask(call, trial, request, _FOLLOWED)
        for line in page.lines:
            yield _line(trial, line)
        has_more = trial.move(page)


async def _ask(call: Call, trial: _Trial, request: LogFilter, limit: int) -> messages.LogPage:
    question = GetLogs(
        trial_id=TrialId(trial.id),
        after=trial.after,
        limit=limit,
        tail=trial.tail,
        before=trial.before,
        **filter_of(request).model_dump(),
    )
    return await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)


def filter_of(request: LineFilter) -> messages.LineFilter:
    """Convert the request's filters to the registry's message."""
    return messages.LineFilter(
        rank=request.rank,
        contains=request.contains,
        pattern=request.pattern,
        stream=request.stream.value if request.stream else None,
        level=request.level.value if request.level else None,
        since_ms=_ms(request.since),
        until_ms=_ms(request.until),
    )


def _ms(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _line(trial: _Trial, line: StoredLine) -> LogLine:
    return render_line(line, trial.id, trial.number, f"{trial.number}.{line.cursor}")


def _resume(after: str | None, trials: list[_Trial]) -> None:
    """Resume after the line `after`. Earlier lines of other trials may be repeated; no line is skipped."""
    if after is None:
        return
    number, _, cursor = after.partition(".")
    if not (number.isdecimal() and cursor.isdecimal() and len(number) < 10 and len(cursor) < 19):
        raise Rejected("cursor_invalid", f"{after!r} is not the cursor of a log line", "after")
    for trial in trials:
        if trial.number == int(number):
            trial.after, trial.tail = int(cursor), None


def _trial_at(row: Any, place: Position) -> _Trial:
    """Return a trial at a cursor's position; cursors of the previous version have fewer elements."""
    after, tail, before = (None if one is None else int(str(one)) for one in (*place, None, None)[:3])
    return _Trial(row.id, row.number, after or 0, tail, before)


def _last(trials: dict[int, Any]) -> int | None:
    return max(trials) if trials else None
