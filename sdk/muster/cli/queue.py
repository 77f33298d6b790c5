"""`muster queue`: who waits, why, and what a person may change about it."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.frame import Group, verb
from muster.cli.options import Number, PoolName
from muster.cli.output import emit, note, number, slots, table
from muster.cli.trial import explain
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import ExperimentDetail

NO_LIMIT = "none"

app = typer.Typer(
    cls=Group,
    help="Show what runs and what waits, and why; change who goes first.",
    invoke_without_command=True,
)


@app.callback()
def _queue(context: typer.Context, pool: PoolName = None) -> None:
    """Show what runs and what waits, and why; change who goes first."""
    if context.invoked_subcommand is None:
        list_(pool)


@verb(app, "list")
def list_(pool: PoolName = None) -> None:
    """Show what runs and what waits, and why."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.queue(pool).all()
    columns = (">place", "trial", "pool", ">priority", ">slots", "state", "why", "since")
    rows = (
        (
            one.position, f"{one.experiment_number}.{one.trial_number}", one.pool, one.priority,
            slots(one.slots, one.min_slots, one.max_slots), one.state, one.reason, one.since,
        )
        for one in found
    )  # fmt: skip
    emit(found, lambda: table(columns, rows, "nothing runs and nothing waits"))


verb(app, "explain")(explain)


@verb(app, "priority")
def priority(
    experiment: Number,
    priority: Annotated[int, typer.Argument(help="1 goes first, 99 last.")],
) -> None:
    """Change who goes first: the experiment's priority."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, priority=priority))


@verb(app, "weight")
def weight(
    experiment: Number,
    weight: Annotated[float, typer.Argument(help="Twice the weight, twice the share.")],
) -> None:
    """Change the experiment's part under fair share."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, weight=weight))


@verb(app, "limit")
def limit(
    experiment: Number,
    max_slots: Annotated[str, typer.Argument(metavar="SLOTS", help=f"A number, or {NO_LIMIT}.")],
) -> None:
    """Change how many slots the experiment's trials may hold together."""
    from muster.client import connect

    most = _read_slots(max_slots)
    with connect() as client:
        _changed(client.experiments.edit(experiment, max_slots=most, no_max_slots=most is None))


@verb(app, "move")
def move(
    experiment: Number,
    pool: Annotated[str, typer.Option("--pool", help="Where its next runs go; running ones save and move.")],
) -> None:
    """Move an experiment to another pool."""
    from muster.client import connect

    with connect() as client:
        _changed(client.experiments.edit(experiment, pool=pool))


def _read_slots(given: str) -> int | None:
    if given == NO_LIMIT:
        return None
    if not given.isdecimal():
        raise Rejected(
            "bad_max_slots",
            f"{given!r} is no number of slots",
            "SLOTS",
            f"give a number above 0, or {NO_LIMIT}",
        )
    return int(given)


def _changed(found: "ExperimentDetail") -> None:
    most = "no limit" if found.max_slots is None else f"max_slots {found.max_slots}"
    said = "experiment [bold]{}[/] is in pool [bold]{}[/] with priority {}, weight {}, {}"
    emit(found, lambda: note(said, found.number, found.pool, found.priority, number(found.weight), most))
