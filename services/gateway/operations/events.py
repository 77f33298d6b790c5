"""The stream of a tenant's changes: in order, without a gap, from any position still kept."""

from collections.abc import AsyncIterator
from uuid import UUID

from muster.errors import Rejected
from services.gateway.api.cluster import Event, WatchEventsRequest
from services.gateway.operations.call import Call
from services.gateway.operations.find import find_experiment
from services.gateway.operations.render import render_event
from services.gateway.store import events as store

_BATCH = 200


async def watch_events(call: Call, request: WatchEventsRequest) -> AsyncIterator[Event]:
    """Streams every change of the tenant's entities, resumable by the last event's id."""
    experiment: UUID | None = None
    if request.experiment is not None:
        experiment = (await find_experiment(call, request.experiment)).id
    position = await _start(call, call.last_event_id or request.after)
    if call.announce is not None:
        await call.announce(str(position))
    is_narrowed = bool(call.within)
    kinds = [str(kind) for kind in request.kind]
    with call.doors.feed.waiting(call.tenant) as waiter:
        while True:
            async with call.connection() as connection:
                last = await store.feed_end(connection) if is_narrowed else position
                rows = await store.load_events(connection, position, kinds, experiment, _BATCH)
            for row in rows:
                yield render_event(row, str(row.position))
                position = row.position
            if len(rows) < _BATCH:
                # What is kept from the caller is passed over once, and not at each look.
                position = max(position, last)
                await waiter.wait(call.doors.follow_poll_s)


async def _start(call: Call, after: str | None) -> int:
    # Where the feed begins is the same for all: the first event that this caller sees may come long after it.
    async with call.doors.database.tenant(call.tenant) as connection:
        first, last = await store.feed_bounds(connection)
    if after is None:
        return last
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
    return position
