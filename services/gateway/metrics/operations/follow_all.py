"""Stream the reports of all trials of an experiment, including new trials. See `follow` for a single trial."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from math import inf

from services.gateway.experiments.find import experiment_in
from services.gateway.metrics.experiment_positions import ExperimentPosition, parse_experiment_position
from services.gateway.metrics.operations.follow import is_wanted, render_reported
from services.gateway.metrics.positions import from_reported, to_reported, with_positions
from services.gateway.metrics.schema import FollowExperimentMetricsRequest, ReportedValue
from services.gateway.platform.call_context import Call
from services.gateway.platform.events.stream_timeouts import FinalDataTimeout, ask_with_retries
from services.gateway.platform.references import Row
from services.gateway.trials import store as trial_store
from shared.ids import TrialId
from shared.messages.metrics import GetReportedByTrials, ReportedPoints, TrialReportCursor

_AT_ONCE = 500
_TRIALS_AT_ONCE = 100
"""Maximum number of trials in one query to the registry."""
_GATHERED_S = 0.2
"""Delay that batches the reports of many trials into one query."""
_POLLS = 5
"""Hints may be lost: after this many poll intervals, all trials are queried."""
_SETTLED = timedelta(seconds=30)
"""Time after a trial's end when no more reports are in transit."""


async def follow_experiment_metrics(
    call: Call, request: FollowExperimentMetricsRequest
) -> AsyncIterator[ReportedValue]:
    """Stream the metrics that the trials of an experiment report, in order within each trial, until the experiment ends."""
    after = call.last_event_id or request.after
    spans = parse_experiment_position(after) if after is not None else ExperimentPosition()
    is_passing, is_announced = after is None and request.from_now, False
    timeouts: dict[int, FinalDataTimeout] = {}
    seen, asked_all_s = -1, -inf
    async with call.dependencies.feed.waiting_for(call.tenant, "metrics", None) as waiter:
        while True:
            # Taken before the query, so that later hints are handled in the next round.
            hinted, now_s = waiter.take_hinted(), call.dependencies.clock.monotonic()
            is_for_all = now_s - asked_all_s >= _POLLS * call.dependencies.timeouts.poll_s
            asked_all_s = now_s if is_for_all else asked_all_s
            async with call.read() as connection:
                experiment = await experiment_in(connection, request.experiment)
                known = await trial_store.load_trial_outcomes(
                    connection, experiment.id, numbers=list(timeouts)
                )
                new = await trial_store.load_trial_outcomes(
                    connection, experiment.id, above=seen, limit=_AT_ONCE
                )
            seen = max([seen, *(row.number for row in new)])
            if is_passing:
                await _pass_over(call, request, new, spans)
            timeouts |= {row.number: FinalDataTimeout(call) for row in new if not spans.is_done(row.number)}
            is_passing = is_passing and len(new) == _AT_ONCE
            if not is_announced and not is_passing and call.announce is not None:
                is_announced = True
                await call.announce(str(spans))
            due = [row for row in known if is_for_all or row.final or row.id in hinted]
            open_ = [row for row in (*due, *new) if row.number in timeouts and not is_passing]
            for some in _batched(open_):
                async for value in _new_values(call, request, some, spans, timeouts):
                    yield value
            if len(new) == _AT_ONCE:
                continue
            if experiment.final and not timeouts:
                return
            await asyncio.sleep(_GATHERED_S)
            await waiter.wait(call.dependencies.timeouts.poll_s)


async def _pass_over(
    call: Call, request: FollowExperimentMetricsRequest, rows: Sequence[Row], spans: ExperimentPosition
) -> None:
    """Advance past everything that was already reported."""
    for row in rows:
        if _is_settled(call, row):
            spans.finish(row.number)
    unfinished = [row for row in rows if not spans.is_done(row.number)]
    for some in _batched(unfinished):
        for row, found in zip(some, await _ask(call, request, some, spans, from_now=True), strict=True):
            spans.reach(row.number, from_reported(found.end))


async def _new_values(
    call: Call,
    request: FollowExperimentMetricsRequest,
    rows: Sequence[Row],
    spans: ExperimentPosition,
    timeouts: dict[int, FinalDataTimeout],
) -> AsyncIterator[ReportedValue]:
    """Yield new matching values of these trials. Removes completely sent trials from `timeouts`."""
    while rows:
        longer: list[Row] = []
        for row, found in zip(rows, await _ask(call, request, rows, spans), strict=True):
            place = spans.of(row.number)
            for point, _, go_on in with_positions(found.points, place):
                spans.reach(row.number, go_on)
                if is_wanted(point, request):
                    yield render_reported(row, point, "" if request.without_cursors else str(spans))
            spans.reach(row.number, max(place, from_reported(found.end)))
            if not found.is_last:
                longer.append(row)
            elif _is_settled(call, row) or (
                timeouts[row.number].has_expired(bool(row.final)) and not found.points
            ):
                spans.finish(row.number)
                del timeouts[row.number]
        rows = longer


async def _ask(
    call: Call,
    request: FollowExperimentMetricsRequest,
    rows: Sequence[Row],
    spans: ExperimentPosition,
    from_now: bool = False,
) -> tuple[ReportedPoints, ...]:
    """Query the registry for the reports of several trials after their positions.

    The filters apply only without cursors: positions in a filtered stream differ from those in an unfiltered one.
    """
    behind = tuple(
        TrialReportCursor(trial_id=TrialId(row.id), after=to_reported(spans.of(row.number))) for row in rows
    )
    which = {"group": request.group, "names": tuple(request.name)} if request.without_cursors else {}
    question = GetReportedByTrials(trials=behind, from_now=from_now, **which)
    return (await ask_with_retries(call, question)).trials


def _batched(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[at : at + _TRIALS_AT_ONCE] for at in range(0, len(rows), _TRIALS_AT_ONCE))


def _is_settled(call: Call, row: Row) -> bool:
    return (
        bool(row.final)
        and row.ended_at is not None
        and call.dependencies.clock.now() - row.ended_at > _SETTLED
    )
