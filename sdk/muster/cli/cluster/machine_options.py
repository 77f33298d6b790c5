"""The options of `muster pool create` and `muster pool update`: the machines that a pool may rent."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.cluster.pool_options import NONE
from muster.cli.cluster.pools import Name, seconds_of
from muster.errors import Rejected

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    Act = Callable[[str, dict[str, JsonValue]], None]

FIELDS = (
    "kinds", "zones", "order", "minimum", "maximum", "maximum_slots", "reserve_slots", "spot_share", "on_demand_slots",
    "falls_back", "moves_runs", "batching_window_s", "idle_timeout_s", "join_timeout_s", "budget_per_month", "labels",
)  # fmt: skip
"""Request fields of a pool's definition."""

Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Machine type, from `muster pool kinds`. Repeatable. The cheapest is rented first; with `--as-given`, the first given.",
    ),
]
Zone = Annotated[
    list[str] | None,
    typer.Option(
        "--zone", metavar="ZONE", help="Zone to rent in; by default all zones of the kinds. Repeatable."
    ),
]
GivenOrder = Annotated[
    bool | None,
    typer.Option("--as-given/--cheapest", help="Prefer kinds in the given order, or the cheapest."),
]
Minimum = Annotated[int | None, typer.Option("--minimum", min=0, help="Machines to keep without demand.")]
Maximum = Annotated[int | None, typer.Option("--maximum", min=0, help="Maximum number of machines.")]
MaximumSlots = Annotated[
    str | None,
    typer.Option("--maximum-slots", metavar="N", help=f"Maximum number of slots; {NONE} for no limit."),
]
Reserve = Annotated[
    int | None, typer.Option("--reserve-slots", min=0, help="Idle slots to keep as headroom.")
]
SpotShare = Annotated[
    float | None,
    typer.Option(
        "--spot-share",
        min=0,
        max=1,
        help="Maximum share of slots on spot machines, 0 to 1; a new pool has 0.",
    ),
]
OnDemand = Annotated[
    int | None,
    typer.Option("--on-demand-slots", min=0, help="Minimum number of slots on on-demand machines."),
]
FallsBack = Annotated[
    bool | None,
    typer.Option(
        "--fall-back/--no-fall-back", help="Rent on-demand machines when spot machines are unavailable."
    ),
]
MovesRuns = Annotated[
    bool | None,
    typer.Option(
        "--move-runs/--no-move-runs",
        help="In pools with spot machines, migrate runs to cheaper machines (save and resume there) once the savings outweigh the move.",
    ),
]
BatchingWindow = Annotated[
    str | None,
    typer.Option(
        "--batching-window",
        metavar="TIME",
        help="While demand grows, wait this long before renting, to rent fewer and larger machines.",
    ),
]
Idle = Annotated[
    str | None,
    typer.Option(
        "--idle-timeout",
        metavar="TIME",
        help="Idle time after which a machine is terminated; a new pool has 5m.",
    ),
]
Join = Annotated[
    str | None,
    typer.Option(
        "--join-timeout",
        metavar="TIME",
        help="Time after which a machine that has not joined is terminated; a new pool has 20m.",
    ),
]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="AMOUNT", help=f"Monthly budget; {NONE} for no limit.")
]


NewName = Annotated[
    str, typer.Argument(metavar="POOL", help="Name of the new pool: letters, digits and . _ -")
]


def defining(act: "Act", argument: object = Name) -> "Callable[..., None]":
    """Return a command with the options of a pool's definition; it calls `act` with the given fields and takes its help from `act`.

    Args:
        argument: Type of the argument that names the pool.
    """

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
        batching_window: BatchingWindow = None,
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
            "batching_window_s": None
            if batching_window is None
            else seconds_of(batching_window, "--batching-window"),
            "idle_timeout_s": None if idle_timeout is None else seconds_of(idle_timeout, "--idle-timeout"),
            "join_timeout_s": None if join_timeout is None else seconds_of(join_timeout, "--join-timeout"),
        }
        given = {name: value for name, value in given.items() if value is not None}
        # None removes these limits.
        if maximum_slots is not None:
            given["maximum_slots"] = _amount(maximum_slots, "--maximum-slots", int)
        if budget is not None:
            given["budget_per_month"] = _amount(budget, "--budget", float)
        act(pool, given)

    command.__doc__ = act.__doc__
    command.__annotations__["pool"] = argument
    return command


def _amount(given: str, option: str, of: "Callable[[str], float]") -> float | None:
    try:
        return None if given == NONE else of(given)
    except ValueError:
        raise Rejected(
            "bad_amount", f"{given!r} is not a number", option, f"give a number, or {NONE}"
        ) from None
