"""Holds, which pause offers of providers. Expired holds stay, because a repeated cause doubles the next one."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.refusals import (
    Cause,
    LaunchBackoff,
    LaunchRefusal,
    Scope,
    on_refused,
    scope_of,
)
from services.provisioner.metrics import count_refusal
from services.provisioner.store.tables import launch_backoff
from shared.bus import Unit

KEPT_FOR = timedelta(days=1)


async def load_backoffs(connection: AsyncConnection, now: datetime) -> list[LaunchBackoff]:
    """Return holds that expired less than a day ago or not yet, by provider, kind, zone and purchase."""
    statement = select(launch_backoff).where(launch_backoff.c.until > now - KEPT_FOR)
    order = (
        launch_backoff.c.provider,
        launch_backoff.c.kind,
        launch_backoff.c.zone,
        launch_backoff.c.purchase,
    )
    return [
        LaunchBackoff(
            Scope(row.provider, row.kind or None, row.zone or None, row.purchase or None),
            row.cause,
            row.reason,
            row.failures,
            row.since,
            row.until,
        )
        for row in await connection.execute(statement.order_by(*order))
    ]


async def save_hold(unit: Unit, offer: Offer, refusal: LaunchRefusal) -> LaunchBackoff:
    """Record a refusal as a hold."""
    connection, now = unit.connection, unit.now
    scope = scope_of(offer, refusal.cause)
    known = {one.scope: one for one in await load_backoffs(connection, now)}
    after = on_refused(known.get(scope), offer, refusal, now)
    values = {
        **_key(after.scope),
        "cause": after.cause,
        "reason": after.reason,
        "failures": after.failures,
        "since": after.since,
        "until": after.until,
    }
    statement = upsert(launch_backoff).values(values)
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=list(_key(scope)), set_={name: statement.excluded[name] for name in values}
        )
    )
    unit.after_commit(partial(count_refusal, offer.kind.provider, refusal.cause))
    return after


async def clear_holds(
    connection: AsyncConnection, offer: Offer, is_cleared: Callable[[Cause], bool], now: datetime
) -> bool:
    """Clear the holds that a successful launch of the offer disproves. Returns whether any was cleared."""
    cleared = [
        one
        for one in await load_backoffs(connection, now)
        if one.scope.covers(offer) and is_cleared(one.cause)
    ]
    for one in cleared:
        key = _key(one.scope)
        await connection.execute(
            delete(launch_backoff).where(*(launch_backoff.c[name] == value for name, value in key.items()))
        )
    return bool(cleared)


def _key(scope: Scope) -> dict[str, str]:
    return {
        "provider": scope.provider,
        "kind": scope.kind or "",
        "zone": scope.zone or "",
        "purchase": scope.purchase or "",
    }
