"""Publishes events in the transaction of their change: to the tenant's feed, and to subscribers outside the platform."""

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
"""Kinds of events that change the representation of an experiment."""


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Hooks for subscribers outside the platform (webhooks)."""

    exist: Callable[[UUID], ColumnElement[bool]]
    """Returns the SQL condition that a tenant has subscribers, for the statement that appends events."""
    plan: Callable[[AsyncConnection, UUID, datetime, Sequence[NewEvent], int], Awaitable[bool]]
    """Stores deliveries for the events just appended, given the last position. Returns True if there are any."""
    wake: Callable[[], None]
    """Sends stored deliveries now."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes the events of tenants and of the site."""

    feed: Feed
    subscribers: Subscribers

    async def publish(self, unit: Unit, tenant: TenantId, events: Sequence[NewEvent]) -> None:
        """Append events. The caller must hold the feed's lock (`store.feed_lock`)."""
        if not events:
            return
        condition = self.subscribers.exist(tenant)
        last, has_subscribers = await store.append_events(
            unit.connection, tenant, unit.now, events, condition
        )
        changed = {one.entity for one in events if one.kind in CHANGE_A_VIEW}
        unit.after_commit(partial(self.feed.changed, tenant, last, changed))
        if has_subscribers and await self.subscribers.plan(unit.connection, tenant, unit.now, events, last):
            unit.after_commit(as_callback(self.subscribers.wake))


def as_callback(act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    """Wrap a function as a callback for `Unit.after_commit`."""

    async def acted() -> None:
        act()

    return acted
