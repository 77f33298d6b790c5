"""The stream of a tenant's changes: in order, without a gap, from any position still kept."""

from collections.abc import AsyncIterator
from functools import partial
from uuid import UUID

from muster.errors import Rejected
from services.gateway.api.events import Event, EventKind, WatchEventsRequest
from services.gateway.operations.call import Call
from services.gateway.operations.find import find_experiment
from services.gateway.operations.render import render_event
from services.gateway.store import events as store
from services.gateway.tails import Page, Told

_BATCH = 200
_KNOWN = tuple(map(str, EventKind))
USUAL = frozenset(EventKind) - {EventKind.BUDGET, EventKind.REQUEST, EventKind.LABELS}
"""Whoever names no kind is told of these: clients were released that know no others (decision 0185)."""


async def watch_events(call: Call, request: WatchEventsRequest) -> AsyncIterator[Event]:
    """Streams every change of the tenant's entities, resumable by the last event's id."""
    experiment: UUID | None = None
    if request.experiment is not None:
        experiment = (await find_experiment(call, request.experiment)).id
    kinds = frozenset(request.kind) or USUAL
    position, last = await _start(call, call.last_event_id or request.after)
    if call.announce is not None:
        await call.announce(str(position))
    waiting = partial(call.doors.feed.waiting_on, call.tenant)
    with call.doors.tails.following(call.view, last, partial(_read, call), waiting) as tail:
        while True:
            if position < tail.begin:
                page = await _read(call, position)
                told, end = page.told, page.end
            else:
                told, end = tail.since(position), tail.end
            for one in told:
                if one.item.kind in kinds and experiment in (None, one.item.experiment):
                    yield one.item
            position = max(position, end)
            await tail.more(position)


async def _read(call: Call, after: int) -> Page[int, Event]:
    """One batch of what the call sees behind a position. What is kept from it is passed over once, and not at each look."""
    async with call.connection() as connection:
        end = await store.feed_end(connection)
        rows = await store.load_events(connection, after, _KNOWN, _BATCH)
    told = [Told(row.position, render_event(row, str(row.position))) for row in rows]
    if len(told) == _BATCH:
        return Page(told, told[-1].position, is_last=False)
    return Page(told, max([after, end, *(one.position for one in told[-1:])]), is_last=True)


async def _start(call: Call, after: str | None) -> tuple[int, int]:
    """Behind which position the stream begins, and the last that there is."""
    # Where the feed begins is the same for all: the first event that this caller sees may come long after it.
    async with call.doors.database.looking(call.tenant) as connection:
        first, last = await store.feed_bounds(connection)
    if after is None:
        return last, last
    position = int(after) if after.isdecimal() and len(after) < 19 else -1
    if not 0 <= position <= last:
        raise Rejected("cursor_invalid", "this is not the id of an event of yours", "after")
    if position < first - 1:
        raise Rejected(
            "events_expired",
            "the events behind this id are no longer kept",
            "after",
            "read the lists again, then watch without `after`",
        )
    return position, last
