"""Slot-seconds and money added up from the holdings, in the database: exact, whatever the period."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.messages.usage import GetUsage, UsageKey, UsagePage, Used

_COLUMNS: Mapping[UsageKey, str] = {
    "day": "day::date",
    "tenant": "tenant",
    "workspace": "workspace",
    "user": "owner",
    "experiment": "experiment",
    "pool": "pool",
}
_HELD = (
    "SELECT *, greatest(since, :since) AS begins, least(until, :until) AS ends"
    " FROM scheduler.holding WHERE since < :until AND (until > :since OR until IS NULL)"
)
_BY_DAY = (
    "SELECT *, greatest(begins, day AT TIME ZONE 'UTC') AS starts,"
    " least(ends, (day + interval '1 day') AT TIME ZONE 'UTC') AS stops"
    f" FROM ({_HELD}) held, generate_series(date_trunc('day', begins AT TIME ZONE 'UTC'),"
    " ends AT TIME ZONE 'UTC' - interval '1 microsecond', '1 day') AS days(day)"
)
_WHOLE = f"SELECT *, begins AS starts, ends AS stops FROM ({_HELD}) held"
_SUMS = ("slot_seconds", "cost", "unpriced_slot_seconds")
_MOST_ROWS = 1000
"""Fits a reply on the bus with names of any length that the gateway takes."""


async def load_usage(connection: AsyncConnection, query: GetUsage, now: datetime) -> UsagePage:
    """Returns one page; which tenants are seen is the connection's matter."""
    limit = max(1, min(query.limit, _MOST_ROWS))
    keys = dict.fromkeys(query.by)
    after = dict(zip(_places(len(keys)), query.after or (), strict=False))
    times = {"since": query.since, "until": min(query.until, now)}
    found = await connection.execute(
        _statement(tuple(keys), bool(after)), {**times, **after, "limit": limit + 1}
    )
    rows = found.all()
    shown = [_used(tuple(keys), row) for row in rows[:limit]]
    more = len(rows) > limit
    last = rows[limit - 1][: len(keys)] if more else None
    return UsagePage(rows=tuple(shown), next=tuple(map(str, last)) if last is not None else None)


def _statement(keys: tuple[UsageKey, ...], goes_on: bool) -> TextClause:
    """The columns come from the table above alone."""
    columns = ", ".join(f"{_COLUMNS[key]}::text AS k{place}" for place, key in enumerate(keys))
    names = ", ".join(f"k{place}" for place in range(len(keys)))
    places = ", ".join(f":{place}" for place in _places(len(keys)))
    beyond = f"WHERE ({names}) > ({places})" if goes_on else ""
    parts = _BY_DAY if "day" in keys else _WHOLE
    return text(
        f"SELECT * FROM (SELECT {columns}, sum(slot_seconds) AS slot_seconds,"
        " coalesce(sum(slot_seconds * price_per_slot_hour::numeric), 0) / 3600 AS cost,"
        " coalesce(sum(slot_seconds) FILTER (WHERE price_per_slot_hour IS NULL), 0) AS unpriced_slot_seconds"
        f" FROM (SELECT *, slots * extract(epoch FROM stops - starts) AS slot_seconds FROM ({parts}) parts) timed"
        f" GROUP BY {names}) used {beyond} ORDER BY {names} LIMIT :limit"
    )


def _places(count: int) -> list[str]:
    return [f"after{place}" for place in range(count)]


def _used(keys: tuple[UsageKey, ...], row: Sequence[str | float]) -> Used:
    sums = dict(zip(_SUMS, map(float, row[len(keys) :]), strict=True))
    return Used.model_validate({**dict(zip(keys, row, strict=False)), **sums})
