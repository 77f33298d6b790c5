"""`muster queue`: waiting trials, their reasons, and changes to their order."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import Group, verb
from muster.cli.base.options import Number, PoolName
from muster.cli.base.output import emit, note, number
from muster.cli.command_table import EXPLAIN, QUEUE
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import ExperimentDetail

NO_LIMIT = "none"

app = typer.Typer(
    cls=Group,
    help="Show running and waiting trials with reasons; change priorities and limits.",
    invoke_without_command=True,
)


@app.callback()
def _queue(context: typer.Context, pool: PoolName = None) -> None:
    """Show running and waiting trials with reasons; change priorities and limits."""
    if context.invoked_subcommand is None:
        QUEUE.run({} if pool is None else {"pool": pool})


QUEUE.add_to(app)
EXPLAIN.add_to(app)


@verb(app, "priority", takes_number=True)
def priority(
    experiment: Number,
    priority: Annotated[int, typer.Argument(help="1 is first, 99 is last.")],
) -> None:
    """Set the priority of an experiment. Under fair share (the default), it orders the experiments of one user."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, priority=priority))


@verb(app, "weight", takes_number=True)
def weight(
    experiment: Number,
    weight: Annotated[
        float,
        typer.Argument(help="Share relative to other experiments; twice the weight gives twice the share."),
    ],
) -> None:
    """Set the weight of an experiment under fair share."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, weight=weight))


@verb(app, "limit", takes_number=True)
def limit(
    experiment: Number,
    max_slots: Annotated[
        str, typer.Argument(metavar="SLOTS", help=f"Maximum number of slots, or {NO_LIMIT}.")
    ],
) -> None:
    """Limit how many slots the trials of an experiment may use together."""
    from muster.client import connect

    most = _read_most(max_slots, "slots")
    with connect() as client:
        _changed(client.experiments.edit(experiment, max_slots=most, no_max_slots=most is None))


@verb(app, "trials", takes_number=True)
def trials(
    experiment: Number,
    max_trials: Annotated[
        str, typer.Argument(metavar="TRIALS", help=f"Maximum number of trials, or {NO_LIMIT}.")
    ],
) -> None:
    """Limit how many trials of an experiment run at the same time."""
    from muster.client import connect

    most = _read_most(max_trials, "trials")
    with connect() as client:
        _changed(client.experiments.edit(experiment, max_trials=most, no_max_trials=most is None))


@verb(app, "move")
def move(
    experiment: Number,
    pool: Annotated[
        str, typer.Option("--pool", help="Target pool; running trials save a checkpoint and move.")
    ],
) -> None:
    """Move an experiment to another pool."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, pool=pool))


def _read_most(given: str, what: str) -> int | None:
    if given == NO_LIMIT:
        return None
    if not given.isdecimal():
        raise Rejected(
            f"bad_max_{what}",
            f"{given!r} is not a number of {what}",
            what.upper(),
            f"give a number above 0, or {NO_LIMIT}",
        )
    return int(given)


def _changed(found: "ExperimentDetail") -> None:
    caps = (("max_slots", found.max_slots), ("max_trials", found.max_trials))
    most = ", ".join(f"{name} {most}" for name, most in caps if most is not None) or "no limit"
    message = "experiment [bold]{}[/] is in pool [bold]{}[/] with priority {}, weight {}, {}"
    emit(found, lambda: note(message, found.number, found.pool, found.priority, number(found.weight), most))
