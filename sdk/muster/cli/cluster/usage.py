"""`muster usage`: slot usage by user, workspace, experiment and other keys."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from muster._clock import now_ms
from muster.cli.base.output import emit, note, out, table
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import CostShare, Usage, UsageRow

_BACK = re.compile(r"(\d{1,5})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOMENT = "now, a date, a time (2026-11-01T08:00, UTC without a zone), or an age: 90m, 12h, 7d."

Key = StrEnum("Key", "day tenant workspace user label experiment pool")
By = Annotated[
    list[Key] | None, typer.Option("--by", help="Key to group by; by default workspace. Repeatable.")
]
Since = Annotated[
    str | None, typer.Option("--since", help=f"Start: {_MOMENT} By default 30 days before the end.")
]
Until = Annotated[str | None, typer.Option("--until", help=f"End: {_MOMENT} By default now.")]
Days = Annotated[
    int | None,
    typer.Option(
        "--days", min=1, max=366, help="Number of UTC days including the last one, instead of --since."
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV on stdout, for a spreadsheet.")]


def usage(
    by: By = None, since: Since = None, until: Until = None, days: Days = None, csv: Csv = False
) -> None:
    """Show used slot-seconds and their cost."""
    from muster.client import connect

    keys = tuple(dict.fromkeys(by or ("workspace",)))
    period = (moment_of(since, "--since"), moment_of(until, "--until"), days)
    with connect() as client:
        if csv and not out.json:
            print(client.cluster.usage_csv(keys, *period), end="")
            return
        found = client.cluster.usage(keys, *period)
    emit(found, lambda: _show(found))


def moment_of(given: str | None, option: str, hint: str = _MOMENT) -> datetime | None:
    """Parse a time in the past or an absolute time; `hint` lists the accepted forms.

    Raises:
        Rejected: The text is not a time.
    """
    if given is None:
        return None
    back = _BACK.fullmatch("0s" if given == "now" else given)
    if back:
        now = datetime.fromtimestamp(now_ms() / 1000, UTC)
        return now - timedelta(**{_UNITS[back[2]]: int(back[1])})
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise Rejected("bad_moment", f"{given!r} is not a time", place=option, hint=hint) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def named(row: "UsageRow | CostShare", key: str) -> object:
    """Return a row's value of a key, formatted."""
    if key == "experiment" and row.experiment is not None:
        return f"{row.experiment} {row.experiment_name or ''}".rstrip()
    return getattr(row, key) or None


def _show(found: "Usage") -> None:
    keys = [*map(str, found.by), *(("label",) if found.by_label else ())]
    is_priced = found.cost > 0
    columns = (*keys, ">slot-seconds", ">slot-hours", ">share", *((">cost",) if is_priced else ()))
    whole = found.slot_seconds or 1.0
    rows = [
        (
            *(named(row, key) for key in keys),
            f"{row.slot_seconds:,.0f}", f"{row.slot_seconds / 3600:,.2f}", f"{row.slot_seconds / whole:.0%}",
            *((f"{row.cost:,.2f}",) if is_priced else ()),
        )
        for row in sorted(found.items, key=lambda row: (row.day or "", -row.slot_seconds))
    ]  # fmt: skip
    table(columns, rows, "no slots were used in this period")
    if rows:
        note(
            "[dim]{} slot-seconds from {} to {} UTC[/]",
            f"{found.slot_seconds:,.0f}", f"{found.since:%Y-%m-%d %H:%M:%S}", f"{found.until:%Y-%m-%d %H:%M:%S}",
        )  # fmt: skip
    if is_priced:
        note("[dim]total cost {}[/]", f"{found.cost:,.2f}")
        if found.unpriced_slot_seconds:
            note("[dim]{} slot-seconds had no known price[/]", f"{found.unpriced_slot_seconds:,.0f}")
