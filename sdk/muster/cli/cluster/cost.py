"""`muster cost`: the cost of rented machines, and which trials used them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.output import emit, note, number, table
from muster.cli.cluster.usage import moment_of, named

if TYPE_CHECKING:
    from muster.client.models import CostShares, MachineCost

_DAY = "a date, a time, or an age: 7d."
_OWNER_KINDS = frozenset({"tenant", "experiment"})

Key = StrEnum("Key", "day pool tenant experiment")
By = Annotated[
    list[Key] | None, typer.Option("--by", help="Group by day, pool, tenant or experiment. Repeatable.")
]
Since = Annotated[str | None, typer.Option("--since", help=f"Start: {_DAY} By default 30 days ago.")]
Until = Annotated[str | None, typer.Option("--until", help="End, as --since; by default today.")]


def cost(by: By = None, since: Since = None, until: Until = None) -> None:
    """Show the cost of rented machines by day, pool and machine type; with --by, split by slot users and idle time."""
    from muster.client import connect

    days = [
        moment.date() if (moment := moment_of(given, option)) else None
        for given, option in ((since, "--since"), (until, "--until"))
    ]
    with connect() as client:
        if by:
            shares = client.machines.cost_shares(tuple(dict.fromkeys(by)), *days)
            emit(shares, lambda: _show_shares(shares))
        else:
            ledger = client.machines.costs(*days)
            emit(ledger, lambda: _show_ledger(ledger))


def _show_ledger(found: "Sequence[MachineCost]") -> None:
    columns = ("day", "pool", "kind", "purchase", ">machines", ">hours", ">cost")
    rows = [
        (
            one.day,
            one.pool,
            one.kind,
            one.purchase.replace("_", " "),
            one.instances,
            number(one.hours),
            f"{one.cost:,.2f}",
        )
        for one in found
    ]
    _show(columns, rows, sum(one.cost for one in found))


def _show_shares(found: "CostShares") -> None:
    """Name idle time in the first column that names a slot's user, else in an additional column."""
    keys = [*map(str, found.by)]
    whose = next((key for key in keys if key in _OWNER_KINDS), "slots")
    columns = keys if whose in keys else [*keys, whose]
    rows = []
    for one in sorted(found.items, key=lambda one: (one.day or "", one.idle, -one.cost)):
        known = {key: named(one, key) for key in keys} | ({"slots": "held"} if whose == "slots" else {})
        cells = known | ({whose: "idle"} if one.idle else {})
        share = f"{one.cost / found.cost:.0%}" if found.cost else None
        rows.append((*(cells[name] for name in columns), number(one.slot_hours), share, f"{one.cost:,.2f}"))
    _show((*columns, ">slot-hours", ">share", ">cost"), rows, found.cost)


def _show(columns: Sequence[str], rows: Sequence[Sequence[object]], whole: float) -> None:
    table(columns, rows, "no machines were rented in this period")
    if rows:
        note("total {}", f"{whole:,.2f}")
