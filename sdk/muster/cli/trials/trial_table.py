"""Tables of trials: any metrics and hyperparameters, filtered, sorted and compared."""

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
"""Parts of a trial's name: the experiment's number and its own."""
COLUMNS_AT_ONCE = 64
MOST_COLUMNS = 640
"""Maximum number of columns to compare."""
MAX_NAMED = ("state", "hparams.", "metrics.")
"""Prefixes of the compared columns; of metrics, the last values."""

Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="EXPRESSION",
        help="Only trials that match: 'metrics.validation.loss.min < 0.5 and hparams.lr < 0.01 and state = completed'.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="COLUMNS",
        help="Sort by these columns, - for descending: 'best', 'hparams.lr', '-metrics.validation.accuracy.max,number'.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Columns, separated by commas; `muster trial columns` lists them.",
    ),
]


def names_in(columns: str | None) -> list[str]:
    """Split a comma-separated list of names; quoted names may contain commas."""
    found, is_quoted = [""], False
    for letter in columns or "":
        is_quoted ^= letter == '"'
        if letter == "," and not is_quoted:
            found.append("")
        else:
            found[-1] += letter
    return [name.strip() for name in found if name.strip()]


def show(rows: "Sequence[TableRow]", empty: str) -> None:
    """Print table rows, as JSON or under shortened column names."""
    named = list(rows[0].values) if rows else []
    columns = (">trial", *[">" + _short(name, named) for name in named])
    emit(rows, lambda: table(columns, (_cells(row) for row in rows), empty))


def columns(experiment: Number) -> None:
    """List the columns by which an experiment's trials can be filtered, sorted and shown."""
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
    note("[dim]{}[/]", "append .last, .best, .min, .max, .mean, .count or .last_step to a metric's name")


def best(
    experiment: Number,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="GROUP.NAME",
            help="Rank by this metric, such as validation.f1, instead of the search's.",
        ),
    ] = None,
    greatest: Annotated[
        bool, typer.Option("--greatest", help="Greater values of --metric are better.")
    ] = False,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of trials.")] = COUNT,
    filter_: Filter = None,
    columns: Columns = None,
) -> None:
    """Show an experiment's best trials, by the search's metric or another one."""
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
    show(rows, "no trials yet" if filter_ is None else "no trial matches the filter")


def compare(
    trials: Annotated[
        list[str],
        typer.Argument(metavar="TRIAL…", help="Trial numbers such as 31.4 31.7, of any experiments."),
    ],
) -> None:
    """Compare the hyperparameters and results of trials side by side; differing values come first."""
    from muster.client import connect

    with connect() as client:
        rows = [row for number, own in _by_experiment(trials).items() for row in _whole(client, number, own)]
    order = {name: place for place, name in enumerate(trials)}
    rows.sort(key=lambda row: order.get(f"{row.experiment_number}.{row.number}", 0))
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    differing = [name for name in names if len({repr(row.values.get(name)) for row in rows}) > 1]
    ordered = [*differing, *(name for name in names if name not in differing)]
    heads = ("", *[f">{row.experiment_number}.{row.number}" for row in rows])
    lines = ((name, *[row.values.get(name) for row in rows]) for name in ordered)
    emit(rows, lambda: table(heads, lines, "nothing to compare"))


def _whole(client: "Client", experiment: str, trials: Sequence[str]) -> "Sequence[TableRow]":
    from muster.errors import NotFound

    known = client.trials.columns_of(experiment)
    wanted = [name for name in known if name.startswith(MAX_NAMED)]
    if len(wanted) > MOST_COLUMNS:
        warning = "experiment {1} has {0} hyperparameters and metrics: only the first {2} are compared. `muster trial export` writes all"
        note(f"[yellow]{warning}[/]", len(wanted), experiment, MOST_COLUMNS)
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
            f"trial {experiment}.{missing[0]}", f"`muster trial list {experiment}` lists the trials"
        )
    return list(rows.values())


def _by_experiment(trials: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in trials:
        parts = name.split(".")
        if len(parts) != PARTS or not all(part.isdigit() for part in parts):
            raise typer.BadParameter(f"{name!r} is not a trial: write 31.4 for trial 4 of experiment 31")
        found.setdefault(parts[0], []).append(parts[1])
    return found


def _cells(row: "TableRow") -> tuple[object, ...]:
    return (f"{row.experiment_number}.{row.number}", *row.values.values())


def _short(name: str, among: Sequence[str]) -> str:
    """The shortest end of a name that is unique; of a metric, at least its name and statistic."""
    parts = name.split(".")
    for count in range(PARTS if parts[0] == "metrics" else 1, len(parts) + 1):
        end = ".".join(parts[-count:])
        if sum(other == end or other.endswith(f".{end}") for other in among) == 1:
            return end
    return name
