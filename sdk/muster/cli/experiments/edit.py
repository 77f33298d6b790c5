"""`muster experiment edit`: change the limits of a running search."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.options import Number
from muster.cli.base.output import emit, note, number
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import ExperimentBudget

NO_LIMIT = "none"


def edit(
    experiment: Number,
    max_trials: Annotated[
        int | None, typer.Option("--max-trials", min=1, help="New total number of trials.")
    ] = None,
    max_concurrent_trials: Annotated[
        int | None, typer.Option("--max-concurrent-trials", min=1, help="New maximum of concurrent trials.")
    ] = None,
    slot_hours: Annotated[
        str | None,
        typer.Option("--slot-hours", help=f"New budget in slot-hours, or {NO_LIMIT} to remove it."),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost",
            help=f"New budget in the currency of the pools' prices, or {NO_LIMIT} to remove it.",
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            help=f"New deadline: a time (2026-12-24T18:00Z) or a time from now (36h), or {NO_LIMIT} to remove it.",
        ),
    ] = None,
) -> None:
    """Change the size and the budget of a running search; `muster queue` changes its share of the slots."""
    from muster.client import connect

    with connect() as client:
        found = client.experiments.edit_search(
            experiment,
            max_trials=max_trials,
            max_concurrent_trials=max_concurrent_trials,
            slot_hours=_read_limit("slot_hours", slot_hours),
            no_slot_hours=slot_hours == NO_LIMIT,
            cost=_read_limit("cost", cost),
            no_cost=cost == NO_LIMIT,
            deadline=_read_deadline(deadline),
            no_deadline=deadline == NO_LIMIT,
        )
    message = "experiment [bold]{}[/]: {} trials, {} at once{}"
    at_once = f"at most {found.max_concurrent_trials}" if found.max_concurrent_trials else "all"
    budget = f"; budget: {used}" if (used := budget_message(found.budget)) else ""
    emit(found, lambda: note(message, found.number, found.trials.planned, at_once, budget))


def budget_message(budget: "ExperimentBudget | None") -> str | None:
    """Format the used part of a search's budget; None if it has no budget."""
    if budget is None:
        return None
    parts = []
    if budget.slot_hours is not None:
        parts.append(f"{number(budget.used_slot_hours)} of {number(budget.slot_hours)} slot-hours")
    if budget.cost is not None:
        parts.append(f"cost {number(budget.used_cost)} of {number(budget.cost)}")
    if budget.deadline is not None:
        parts.append(f"until {budget.deadline:%Y-%m-%d %H:%M} UTC")
    return ", ".join(parts) or f"{number(budget.used_slot_hours)} slot-hours used, no limit"


def _read_limit(name: str, given: str | None) -> float | None:
    if given is None or given == NO_LIMIT:
        return None
    try:
        return float(given)
    except ValueError:
        hint = f"give a number above 0, or {NO_LIMIT}"
        raise Rejected(
            f"bad_{name}", f"{given!r} is not a number", f"--{name.replace('_', '-')}", hint
        ) from None


def _read_deadline(given: str | None) -> datetime | None:
    if given is None or given == NO_LIMIT:
        return None
    from muster._clock import now_ms
    from muster.config.budget import deadline_at

    try:
        return deadline_at(given, datetime.fromtimestamp(now_ms() / 1000, UTC))
    except ValueError as error:
        raise Rejected("bad_deadline", str(error), "--deadline") from None
