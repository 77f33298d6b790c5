"""Into the tenant's feed, and from there to webhooks: what has happened, in the transaction that says so."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from services.gateway.platform.events import store as events
from services.gateway.platform.events.feed import Feed
from services.gateway.platform.events.store import NewEvent
from services.gateway.webhooks import store as webhooks
from shared.bus import Unit
from shared.ids import TenantId


async def tell(
    unit: Unit, tenant: TenantId, told: Sequence[NewEvent], feed: Feed, wake_sender: Callable[[], None]
) -> None:
    """Appends events; the feed's lock is held already (`events.feed_lock`)."""
    if not told:
        return
    last, is_heard = await events.append_events(unit.connection, tenant, unit.now, told)
    # What else is told of stands beside its experiment, and changes nothing that is shown of that.
    changed = {one.entity for one in told if one.kind in ("experiment", "labels", "request")}
    unit.then(partial(feed.changed, tenant, last, changed))
    if is_heard and await webhooks.intend(unit.connection, tenant, unit.now, told, last):
        unit.then(later(wake_sender))


def later(act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    """As something to do after the commit."""

    async def acted() -> None:
        act()

    return acted
