"""Stream a trial's reports. Streams of the same trial share their queries to the registry."""

from collections.abc import AsyncIterator
from functools import partial
from uuid import UUID

from services.gateway.metrics.positions import (
    BEGIN,
    StreamPosition,
    from_reported,
    parse_position,
    to_reported,
    with_positions,
)
from services.gateway.metrics.schema import (
    FollowExperimentMetricsRequest,
    FollowTrialMetricsRequest,
    ReportedValue,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.events.shared_readers import PositionedItem, TailPage
from services.gateway.platform.events.stream_timeouts import FinalDataTimeout, ask_with_retries
from services.gateway.platform.json_values import finite, not_finite, to_time
from services.gateway.platform.references import Row
from services.gateway.trials.find import find_trial
from shared.ids import TrialId
from shared.messages.metrics import GetReported, ReportedPoint, ReportedPoints


async def follow_trial_metrics(
    call: Call, request: FollowTrialMetricsRequest
) -> AsyncIterator[ReportedValue]:
    """Stream the metrics that a trial reports, in order, until the trial ends."""
    row = await find_trial(call, request.trial)
    trial: UUID = row.id
    place = await _start(call, trial, request)
    if call.announce is not None:
        await call.announce(str(place))
    read = partial(_read, call, row, FinalDataTimeout(call))
    waiting = partial(call.dependencies.feed.waiting_for, call.tenant, "metrics", trial)
    with call.dependencies.tails.following((*call.view, trial), place, read, waiting) as tail:
        while True:
            if place < tail.begin:
                page = await read(place)
                values, end = page.items, page.end
            else:
                values, end = tail.since(place), tail.end
            for one in values:
                if is_wanted(one.item, request):
                    yield one.item
            place = max(place, end)
            if not await tail.wait_beyond(place):
                return


async def _start(call: Call, trial: UUID, request: FollowTrialMetricsRequest) -> StreamPosition:
    after = call.last_event_id or request.after
    if after is not None:
        return parse_position(after)
    return (
        from_reported((await query_reported(call, trial, BEGIN, from_now=True)).end)
        if request.from_now
        else BEGIN
    )


async def _read(
    call: Call, trial: Row, timeout: FinalDataTimeout, after: StreamPosition
) -> TailPage[StreamPosition, ReportedValue]:
    # Read before the query: then the registry has everything reported before the trial's end, except what is in transit.
    is_final = bool((await find_trial(call, str(trial.id))).last_event["final"])
    found = await query_reported(call, trial.id, after)
    values = [
        PositionedItem(here, render_reported(trial, point, str(go_on)))
        for point, here, go_on in with_positions(found.points, after)
    ]
    is_over = timeout.has_expired(is_final) and found.is_last and not values
    return TailPage(values, max(after, from_reported(found.end)), found.is_last, is_over)


async def query_reported(
    call: Call, trial: UUID, after: StreamPosition, from_now: bool = False
) -> ReportedPoints:
    """Query the registry for reports of a trial after a position."""
    question = GetReported(trial_id=TrialId(trial), after=to_reported(after), from_now=from_now)
    return await ask_with_retries(call, question)


def render_reported(trial: Row, point: ReportedPoint, cursor: str) -> ReportedValue:
    return ReportedValue(
        cursor=cursor,
        trial=trial.id,
        trial_number=trial.number,
        run=point.run_number,
        group=point.group,
        name=point.name,
        step=point.step,
        time=to_time(point.time_ms),
        value=finite(point.value),
        not_finite=not_finite(point.value),
    )


def is_wanted(
    value: ReportedValue | ReportedPoint, request: FollowTrialMetricsRequest | FollowExperimentMetricsRequest
) -> bool:
    """Return whether a value matches the stream's filters."""
    return request.group in (None, value.group) and (not request.name or value.name in request.name)
