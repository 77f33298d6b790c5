"""The options of `muster pool create` and `muster pool update`: what a pool may rent."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.cluster.pool_options import NONE
from muster.cli.cluster.pools import Name, seconds_of
from muster.errors import Rejected

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

FIELDS = (
    "kinds", "zones", "order", "minimum", "maximum", "maximum_slots", "reserve_slots", "spot_share", "on_demand_slots",
    "falls_back", "moves_runs", "patience_s", "idle_timeout_s", "join_timeout_s", "budget_per_month", "labels",
)  # fmt: skip
"""Of a pool, what its definition says."""

Kind = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Of `muster pool kinds`; several: in the order preferred."),
]
Zone = Annotated[
    list[str] | None, typer.Option("--zone", metavar="ZONE", help="By default all zones of the kinds.")
]
GivenOrder = Annotated[
    bool | None,
    typer.Option("--as-given/--cheapest", help="Rent in the order given, or whatever is cheapest."),
]
Minimum = Annotated[int | None, typer.Option("--minimum", min=0, help="Machines without demand.")]
Maximum = Annotated[int | None, typer.Option("--maximum", min=0, help="Machines at most.")]
MaximumSlots = Annotated[
    str | None, typer.Option("--maximum-slots", metavar="N", help=f"Slots at most; {NONE}: no such bound.")
]
Reserve = Annotated[int | None, typer.Option("--reserve-slots", min=0, help="Kept idle for what may come.")]
SpotShare = Annotated[
    float | None,
    typer.Option("--spot-share", min=0, max=1, help="At most this share of the slots on spot machines."),
]
OnDemand = Annotated[
    int | None, typer.Option("--on-demand-slots", min=0, help="At least so many slots not on spot machines.")
]
FallsBack = Annotated[
    bool | None,
    typer.Option("--fall-back/--no-fall-back", help="Rent others where spot machines are not to be had."),
]
MovesRuns = Annotated[
    bool | None,
    typer.Option(
        "--move-runs/--no-move-runs",
        help="With spot machines: runs save and go on elsewhere where that is cheaper.",
    ),
]
LaunchAfter = Annotated[
    str | None,
    typer.Option(
        "--patience",
        metavar="TIME",
        help="While ever more is asked for, wait so long, for fewer and larger machines.",
    ),
]
Idle = Annotated[
    str | None, typer.Option("--idle-timeout", metavar="TIME", help="A machine idle for so long goes.")
]
Join = Annotated[
    str | None,
    typer.Option("--join-timeout", metavar="TIME", help="A machine that has not joined by then is given up."),
]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="AMOUNT", help=f"Money in a month; {NONE}: no bound.")
]


def defining(act: "Callable[[str, dict[str, JsonValue]], None]") -> "Callable[..., None]":
    """A command with the options of a pool's definition; `act` gets those that were given. Its help is that of `act`."""

    def command(
        pool: Name,
        kind: Kind = None,
        zone: Zone = None,
        as_given: GivenOrder = None,
        minimum: Minimum = None,
        maximum: Maximum = None,
        maximum_slots: MaximumSlots = None,
        reserve_slots: Reserve = None,
        spot_share: SpotShare = None,
        on_demand_slots: OnDemand = None,
        fall_back: FallsBack = None,
        move_runs: MovesRuns = None,
        patience: LaunchAfter = None,
        idle_timeout: Idle = None,
        join_timeout: Join = None,
        budget: Budget = None,
    ) -> None:
        given: dict[str, JsonValue] = {
            "kinds": list(kind) if kind else None,
            "zones": list(zone) if zone else None,
            "order": None if as_given is None else "given" if as_given else "cheapest",
            "minimum": minimum,
            "maximum": maximum,
            "reserve_slots": reserve_slots,
            "spot_share": spot_share,
            "on_demand_slots": on_demand_slots,
            "falls_back": fall_back,
            "moves_runs": move_runs,
            "patience_s": None if patience is None else seconds_of(patience, "--patience"),
            "idle_timeout_s": None if idle_timeout is None else seconds_of(idle_timeout, "--idle-timeout"),
            "join_timeout_s": None if join_timeout is None else seconds_of(join_timeout, "--join-timeout"),
        }
        given = {name: value for name, value in given.items() if value is not None}
        # These two can be taken away.
        if maximum_slots is not None:
            given["maximum_slots"] = _amount(maximum_slots, "--maximum-slots", int)
        if budget is not None:
            given["budget_per_month"] = _amount(budget, "--budget", float)
        act(pool, given)

    command.__doc__ = act.__doc__
    return command


def _amount(given: str, option: str, of: "Callable[[str], float]") -> float | None:
    try:
        return None if given == NONE else of(given)
    except ValueError:
        raise Rejected("bad_amount", f"{given!r} is no number", option, f"give a number, or {NONE}") from None
