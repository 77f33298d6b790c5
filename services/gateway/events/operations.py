"""Stream the changes of a tenant and of the site's machines, in order and without gaps, from any retained position."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Rejected
from services.gateway.events.render import render_event, render_machine_event
from services.gateway.events.schema import (
    Event,
    EventKind,
    MachineEvent,
    MachineEventKind,
    WatchEventsRequest,
    WatchMachineEventsRequest,
)
from services.gateway.experiments.find import find_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.events import store
from services.gateway.platform.events.feed import View
from services.gateway.platform.events.shared_readers import PositionedItem, TailPage
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, READ_EXPERIMENT, SAFE
from services.gateway.platform.references import Row
from services.gateway.platform.schema import Resource
from shared.ids import SITE, TenantId

E = TypeVar("E", bound=Resource)

_BATCH = 200
_KNOWN = tuple(map(str, EventKind))
DEFAULT_KINDS = frozenset(EventKind) - {EventKind.BUDGET, EventKind.REQUEST, EventKind.LABELS}
"""Kinds streamed by default: released clients know no others (decision 0185)."""
_KNOWN_OF_MACHINES = tuple(map(str, MachineEventKind))
DEFAULT_MACHINE_KINDS = frozenset({MachineEventKind.INSTANCE, MachineEventKind.PROVIDER})


async def watch_events(call: Call, request: WatchEventsRequest) -> AsyncIterator[Event]:
    """Stream every change of the tenant's entities. Resume with the last event's id."""
    experiment: UUID | None = None
    if request.experiment is not None:
        experiment = (await find_experiment(call, request.experiment)).id
    kinds = frozenset(request.kind) or DEFAULT_KINDS
    feed = _Feed(call.tenant, call.view, call.read, _KNOWN, render_event)
    async for one in _follow(call, feed, request.after):
        if one.kind in kinds and experiment in (None, one.experiment):
            yield one


async def watch_machine_events(call: Call, request: WatchMachineEventsRequest) -> AsyncIterator[MachineEvent]:
    """Stream every change of rented machines and their pools. Resume with the last event's id."""
    kinds = frozenset(request.kind) or DEFAULT_MACHINE_KINDS
    look = partial(call.dependencies.database.read, SITE)
    feed = _Feed(SITE, (SITE, frozenset()), look, _KNOWN_OF_MACHINES, render_machine_event)
    async for one in _follow(call, feed, request.after):
        if one.kind in kinds and request.pool in (None, one.pool):
            yield one


@dataclass(frozen=True, slots=True)
class _Feed(Generic[E]):
    """The feed to read, the caller's view of it, and how to render its rows."""

    tenant: TenantId
    view: View
    look: Callable[[], AbstractAsyncContextManager[AsyncConnection]]
    kinds: tuple[str, ...]
    render: Callable[[Row, str], E]


async def _follow(call: Call, feed: _Feed[E], after: str | None) -> AsyncIterator[E]:
    position, last = await _start(call, feed.tenant, call.last_event_id or after)
    if call.announce is not None:
        await call.announce(str(position))
    waiting = partial(call.dependencies.feed.waiting_on, feed.tenant)
    items: Sequence[PositionedItem[int, E]]
    with call.dependencies.tails.following(feed.view, last, partial(_read, feed), waiting) as tail:
        while True:
            if position < tail.begin:
                page = await _read(feed, position)
                items, end = page.items, page.end
            else:
                items, end = tail.since(position), tail.end
            for one in items:
                yield one.item
            position = max(position, end)
            await tail.wait_beyond(position)


async def _read(feed: _Feed[E], after: int) -> TailPage[int, E]:
    """Read a batch of visible events after a position. The returned end skips invisible events, so that they are read only once."""
    async with feed.look() as connection:
        end = await store.feed_end(connection, feed.tenant)
        rows = await store.load_events(connection, feed.tenant, after, feed.kinds, _BATCH)
    items = [PositionedItem(row.position, feed.render(row, str(row.position))) for row in rows]
    if len(items) == _BATCH:
        return TailPage(items, items[-1].position, is_last=False)
    return TailPage(items, max([after, end, *(one.position for one in items[-1:])]), is_last=True)


async def _start(call: Call, tenant: TenantId, after: str | None) -> tuple[int, int]:
    """Return the position to start after, and the last position of the feed."""
    # The feed's start is the same for all callers: the first event visible to this one may come long after it.
    async with call.dependencies.database.read(tenant) as connection:
        last_expired, last = await store.feed_bounds(connection, tenant)
    if after is None:
        return last, last
    position = int(after) if after.isdecimal() and len(after) < 19 else -1
    if not 0 <= position <= last:
        raise Rejected("cursor_invalid", f"{after!r} is not the id of an event of your tenant", "after")
    if position < last_expired:
        raise Rejected(
            "events_expired",
            f"events after {after} are no longer retained",
            "after",
            "reload the lists, then watch without `after`",
        )
    return position, last


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("WatchEvents", "GET", "/v1/events", WatchEventsRequest, Event, READ_EXPERIMENT, SAFE, watch_events, stream="server"),
    Operation("WatchMachineEvents", "GET", "/v1/machine-events", WatchMachineEventsRequest, MachineEvent, CLUSTER, SAFE, watch_machine_events, stream="server"),
)
# fmt: on
