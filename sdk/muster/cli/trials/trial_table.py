"""Trials side by side: any metric and hyperparameter, filtered, sorted and compared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.options import Number
from muster.cli.base.output import emit, note, table

if TYPE_CHECKING:
    from muster.client import Client
    from muster.client.models import TableRow

COUNT = 10
PARTS = 2
"""A trial is named by its experiment's number and its own."""
COLUMNS_AT_ONCE = 64
MOST_COLUMNS = 640
"""Of two trials nobody reads more side by side."""
MAX_NAMED = ("state", "hparams.", "metrics.")
"""What is compared; of metrics the last values."""

Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="EXPRESSION",
        help="Only those that meet it: 'metrics.validation.loss.min < 0.5 and hparams.lr < 0.01 and state = completed'.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort", metavar="COLUMNS", help="'best', 'hparams.lr', '-metrics.validation.accuracy.max,number'."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Separated by commas; `muster trial columns` tells which there are.",
    ),
]


def names_in(columns: str | None) -> list[str]:
    """Return the names in a list that is separated by commas; those in quotes may hold some."""
    found, is_quoted = [""], False
    for letter in columns or "":
        is_quoted ^= letter == '"'
        if letter == "," and not is_quoted:
            found.append("")
        else:
            found[-1] += letter
    return [name.strip() for name in found if name.strip()]


def show(rows: "Sequence[TableRow]", empty: str) -> None:
    """Print rows of a table: JSON when that is wanted, else under the names that tell columns apart."""
    named = list(rows[0].values) if rows else []
    columns = (">trial", *[">" + _short(name, named) for name in named])
    emit(rows, lambda: table(columns, (_cells(row) for row in rows), empty))


def columns(experiment: Number) -> None:
    """List the names by which an experiment's trials can be filtered, sorted and shown."""
    from muster.cli.base.output import out
    from muster.client import connect

    with connect() as client:
        found = client.trials.columns_of(experiment)
    if out.json:
        import json

        print(json.dumps(list(found)))
        return
    for name in found:
        print(name)
    note("[dim]{}[/]", "a metric's name goes on with .last, .best, .min, .max, .mean, .count or .last_step")


def best(
    experiment: Number,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", metavar="GROUP.NAME", help="Another than the search's, such as validation.f1."
        ),
    ] = None,
    greatest: Annotated[
        bool, typer.Option("--greatest", help="Of --metric, greater values are better.")
    ] = False,
    count: Annotated[int, typer.Option("--count", min=1, help="So many.")] = COUNT,
    filter_: Filter = None,
    columns: Columns = None,
) -> None:
    """Show an experiment's best trials, by the search's metric or another."""
    from muster.client import connect

    with connect() as client:
        rows = client.trials.best(
            experiment,
            count,
            metric=metric,
            smaller_is_better=not greatest,
            filter=filter_ or "",
            columns=names_in(columns),
        )
    show(rows, "no trials yet" if filter_ is None else "no trial meets the filter")


def compare(
    trials: Annotated[list[str], typer.Argument(metavar="TRIAL…", help="31.4 31.7 …, of any experiments.")],
) -> None:
    """Show what trials were made of and what they reached, side by side; what differs stands first."""
    from muster.client import connect

    with connect() as client:
        rows = [row for number, own in _by_experiment(trials).items() for row in _whole(client, number, own)]
    places = {name: place for place, name in enumerate(trials)}
    rows.sort(key=lambda row: places.get(f"{row.experiment_number}.{row.number}", 0))
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    differing = [name for name in names if len({repr(row.values.get(name)) for row in rows}) > 1]
    ordered = [*differing, *(name for name in names if name not in differing)]
    heads = ("", *[f">{row.experiment_number}.{row.number}" for row in rows])
    lines = ((name, *[row.values.get(name) for row in rows]) for name in ordered)
    emit(rows, lambda: table(heads, lines, "there is nothing to compare"))


def _whole(client: "Client", experiment: str, trials: Sequence[str]) -> "Sequence[TableRow]":
    from muster.errors import NotFound

    known = client.trials.columns_of(experiment)
    wanted = [name for name in known if name.startswith(MAX_NAMED)]
    if len(wanted) > MOST_COLUMNS:
        said = "of the {} hyperparameters and metrics of experiment {} the first {} are compared; an export has more"
        note(f"[yellow]{said}[/]", len(wanted), experiment, MOST_COLUMNS)
    rows: dict[int, TableRow] = {}
    for at in range(0, min(len(wanted), MOST_COLUMNS), COLUMNS_AT_ONCE):
        columns = wanted[at : min(at + COLUMNS_AT_ONCE, MOST_COLUMNS)]
        for row in client.trials.table(
            experiment, filter=f"number in ({', '.join(trials)})", columns=columns
        ):
            before = rows[row.number].values if row.number in rows else {}
            rows[row.number] = row.model_copy(update={"values": before | row.values})
    missing = sorted(set(trials) - {str(number) for number in rows})
    if missing:
        raise NotFound(
            f"trial {experiment}.{missing[0]}", f"`muster trial list {experiment}` shows those there are"
        )
    return list(rows.values())


def _by_experiment(trials: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in trials:
        parts = name.split(".")
        if len(parts) != PARTS or not all(part.isdigit() for part in parts):
            raise typer.BadParameter(f"{name!r} names no trial: say 31.4 for trial 4 of experiment 31")
        found.setdefault(parts[0], []).append(parts[1])
    return found


def _cells(row: "TableRow") -> tuple[object, ...]:
    return (f"{row.experiment_number}.{row.number}", *row.values.values())


def _short(name: str, among: Sequence[str]) -> str:
    """As much of the end of a name as tells it from the others; of a metric at least its name and stat."""
    parts = name.split(".")
    for count in range(PARTS if parts[0] == "metrics" else 1, len(parts) + 1):
        end = ".".join(parts[-count:])
        if sum(other == end or other.endswith(f".{end}") for other in among) == 1:
            return end
    return name
