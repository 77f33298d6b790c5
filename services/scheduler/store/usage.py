"""Slot-seconds and cost summed from the usage entries in the database; exact for any period."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Date,
    DateTime,
    Numeric,
    Select,
    Subquery,
    Text,
    cast,
    column,
    extract,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.tables import usage_entry
from shared.messages.usage import GetUsage, SlotUsageRow, UsageKey, UsagePage

_COLUMNS: Mapping[UsageKey, str] = {
    "day": "day",
    "tenant": "tenant",
    "workspace": "workspace",
    "user": "owner",
    "experiment": "experiment",
    "pool": "pool",
}
_SUMS = ("slot_seconds", "cost", "unpriced_slot_seconds")
_Time = DateTime(timezone=True)
_MOST_ROWS = 1000
"""Fits a reply on the bus even with names of maximum length."""


async def load_usage(connection: AsyncConnection, query: GetUsage, now: datetime) -> UsagePage:
    """Return one page. The connection determines which tenants are visible."""
    limit = max(1, min(query.limit, _MOST_ROWS))
    keys = dict.fromkeys(query.by)
    statement = _statement(tuple(keys), query.since, min(query.until, now))
    if query.after:
        statement = statement.where(tuple_(*statement.selected_columns[: len(keys)]) > tuple_(*query.after))
    found = await connection.execute(statement.limit(limit + 1))
    rows = found.all()
    page = [_used(tuple(keys), row) for row in rows[:limit]]
    more = len(rows) > limit
    last = rows[limit - 1][: len(keys)] if more else None
    return UsagePage(rows=tuple(page), next=tuple(map(str, last)) if last is not None else None)


def _statement(keys: tuple[UsageKey, ...], since: datetime, until: datetime) -> Select[Any]:
    """Select the keys as text, then the sums, ordered by the keys."""
    parts = (_by_day if "day" in keys else _whole)(_held(since, until)).subquery("parts")
    named = [cast(parts.c[_COLUMNS[key]], Text).label(f"k{at}") for at, key in enumerate(keys)]
    slot_seconds = parts.c.slots * extract("epoch", parts.c.stops - parts.c.starts)
    price = parts.c.price_per_slot_hour
    used = select(
        *named,
        func.sum(slot_seconds).label("slot_seconds"),
        (func.coalesce(func.sum(slot_seconds * cast(price, Numeric)), 0) / 3600).label("cost"),
        func.coalesce(func.sum(slot_seconds).filter(price.is_(None)), 0).label("unpriced_slot_seconds"),
    )
    one = used.group_by(*named).subquery("used")
    return select(one).order_by(*(one.c[key.name] for key in named))


def _held(since: datetime, until: datetime) -> Subquery:
    here = usage_entry.c
    begin = func.greatest(here.since, literal(since, _Time), type_=_Time).label("begins")
    end = func.least(here.until, literal(until, _Time), type_=_Time).label("ends")
    is_within = (here.since < until, or_(here.until > since, here.until.is_(None)))
    return select(usage_entry, begin, end).where(*is_within).subquery("held")


def _whole(held: Subquery) -> Select[Any]:
    return select(held, held.c.begins.label("starts"), held.c.ends.label("stops"))


def _by_day(held: Subquery) -> Select[Any]:
    """One row for each UTC day of each entry."""
    first = func.date_trunc("day", func.timezone("UTC", held.c.begins))
    last = func.timezone("UTC", held.c.ends) - timedelta(microseconds=1)
    days = func.generate_series(first, last, timedelta(days=1)).table_valued(column("day", DateTime))
    days = days.render_derived(name="days")
    starts = func.greatest(held.c.begins, func.timezone("UTC", days.c.day), type_=_Time)
    stops = func.least(held.c.ends, func.timezone("UTC", days.c.day + timedelta(days=1)), type_=_Time)
    columns = (cast(days.c.day, Date).label("day"), starts.label("starts"), stops.label("stops"))
    return select(held, *columns).select_from(held.join(days, true()))


def _used(keys: tuple[UsageKey, ...], row: Sequence[str | float]) -> SlotUsageRow:
    sums = dict(zip(_SUMS, map(float, row[len(keys) :]), strict=True))
    return SlotUsageRow.model_validate({**dict(zip(keys, row, strict=False)), **sums})
