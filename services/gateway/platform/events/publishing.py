"""Publishes what has happened, in the transaction that changes it: into the tenant's feed, and to subscribers outside the platform."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.events import store
from services.gateway.platform.events.feed import Feed
from services.gateway.platform.events.store import NewEvent
from shared.bus import Unit
from shared.ids import TenantId

CHANGE_A_VIEW = frozenset({"experiment", "labels", "request"})
"""Kinds of events that change what is shown of an experiment; the others stand beside it."""


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Those outside the platform that a tenant's events are sent to."""

    exist: Callable[[UUID], ColumnElement[bool]]
    """Whether a tenant has any, as a condition of the statement that appends events."""
    plan: Callable[[AsyncConnection, UUID, datetime, Sequence[NewEvent], int], Awaitable[bool]]
    """Writes down what is to be sent of the events just appended, the last at a position; True where that is anything."""
    wake: Callable[[], None]
    """Has what was written down sent now."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes the events of tenants, and of the site."""

    feed: Feed
    subscribers: Subscribers

    async def publish(self, unit: Unit, tenant: TenantId, events: Sequence[NewEvent]) -> None:
        """Appends events; the feed's lock is held already (`store.feed_lock`)."""
        if not events:
            return
        condition = self.subscribers.exist(tenant)
        last, has_subscribers = await store.append_events(
            unit.connection, tenant, unit.now, events, condition
        )
        changed = {one.entity for one in events if one.kind in CHANGE_A_VIEW}
        unit.then(partial(self.feed.changed, tenant, last, changed))
        if has_subscribers and await self.subscribers.plan(unit.connection, tenant, unit.now, events, last):
            unit.then(as_callback(self.subscribers.wake))


def as_callback(act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    """As something to do after the commit."""

    async def acted() -> None:
        act()

    return acted
