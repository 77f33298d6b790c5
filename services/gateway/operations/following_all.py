"""Following what all trials of an experiment report, those that begin meanwhile too. Neighbour: `following`, of one trial."""

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from typing import Any

from services.gateway.api.metrics import FollowExperimentMetricsRequest, ReportedValue
from services.gateway.core.places import BEGIN, place_of, with_places
from services.gateway.core.spans import Spans, read_spans
from services.gateway.operations.call import Call
from services.gateway.operations.find import experiment_in
from services.gateway.operations.following import ask_reported, is_wanted, render_reported
from services.gateway.operations.patience import Patience
from services.gateway.store import experiments as store

_AT_ONCE = 500
_SETTLED = timedelta(seconds=30)
"""Of a trial that ended so long ago nothing is on its way any more."""


async def follow_experiment_metrics(
    call: Call, request: FollowExperimentMetricsRequest
) -> AsyncIterator[ReportedValue]:
    """Streams what the trials of an experiment report, each in the order of its reporting, until the experiment has ended."""
    after = call.last_event_id or request.after
    spans = read_spans(after) if after is not None else Spans()
    is_passing, is_announced = after is None and request.from_now, False
    patience: dict[int, Patience] = {}
    seen = -1
    async with call.doors.feed.waiting_for(call.tenant, "metrics", None) as waiter:
        while True:
            async with call.connection() as connection:
                experiment = await experiment_in(connection, request.experiment)
                known = await store.load_standings(connection, experiment.id, numbers=list(patience))
                new = await store.load_standings(connection, experiment.id, above=seen, limit=_AT_ONCE)
            seen = max([seen, *(row.number for row in new)])
            if is_passing:
                await _pass_over(call, new, spans)
            patience |= {row.number: Patience(call) for row in new if not spans.is_done(row.number)}
            is_passing = is_passing and len(new) == _AT_ONCE
            if not is_announced and not is_passing and call.announce is not None:
                is_announced = True
                await call.announce(str(spans))
            for row in (*known, *new) if not is_passing else ():
                if row.number in patience:
                    async for value in _new_values(call, row, spans, patience):
                        if is_wanted(value, request):
                            yield value
            if len(new) == _AT_ONCE:
                continue
            if experiment.final and not patience:
                return
            await waiter.wait(call.doors.follow_poll_s)


async def _pass_over(call: Call, rows: Iterable[Any], spans: Spans) -> None:
    """What was reported already is not told."""
    for row in rows:
        if _is_settled(call, row):
            spans.finish(row.number)
        else:
            spans.reach(row.number, place_of((await ask_reported(call, row.id, BEGIN, from_now=True)).end))


async def _new_values(
    call: Call, row: Any, spans: Spans, patience: dict[int, Patience]
) -> AsyncIterator[ReportedValue]:
    while True:
        place = spans.of(row.number)
        found = await ask_reported(call, row.id, place)
        for point, _, go_on in with_places(found.points, place):
            spans.reach(row.number, go_on)
            yield render_reported(row, point, str(spans))
        spans.reach(row.number, max(place, place_of(found.end)))
        if not found.is_last:
            continue
        if _is_settled(call, row) or (patience[row.number].is_over(bool(row.final)) and not found.points):
            spans.finish(row.number)
            del patience[row.number]
        return


def _is_settled(call: Call, row: Any) -> bool:
    return bool(row.final) and row.ended_at is not None and call.doors.clock.now() - row.ended_at > _SETTLED
