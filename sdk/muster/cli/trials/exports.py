"""`muster experiment export` and `muster trial export`: metrics and trial tables as files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from muster.cli.base.options import Names, Number, argument_of
from muster.cli.base.output import bytes_bar, emit, note
from muster.cli.trials.trial_table import Columns, Filter, Sort, names_in

Directory = Annotated[
    Path, typer.Argument(metavar="DIRECTORY", help="Folder for the files; must not exist or be empty.")
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        parser=argument_of("ExportFormat"),
        metavar="FORMAT",
        help="File format: parquet or arrow.",
    ),
]


def metrics(
    experiment: Number,
    directory: Directory,
    format: FormatName = "parquet",
    name: Names = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Only this group: training, validation or your own.")
    ] = None,
) -> None:
    """Download all metrics of an experiment as Parquet or Arrow files, for pandas, DuckDB or Spark."""
    from muster.client import connect

    with connect() as client, bytes_bar("downloading metrics") as on_bytes:
        got = client.exports.metrics(
            experiment, directory, format=_kind(format), names=name or (), group=group, on_bytes=on_bytes
        )
    emit(got, lambda: note("{} points in {} files: {}", got.rows, len(got.files), directory))


def trials(
    experiment: Number,
    directory: Directory,
    format: FormatName = "parquet",
    filter_: Filter = None,
    sort: Sort = None,
    columns: Columns = None,
) -> None:
    """Download an experiment's trials as Parquet or Arrow files, with all hyperparameters and last metrics, or --columns."""
    from muster.client import connect

    with connect() as client, bytes_bar("downloading trials") as on_bytes:
        got = client.exports.table(
            experiment,
            directory,
            format=_kind(format),
            filter=filter_ or "",
            sort=sort or "",
            columns=names_in(columns),
            on_bytes=on_bytes,
        )
    emit(got, lambda: note("{} trials in {} files: {}", got.rows, len(got.files), directory))


def _kind(format: str) -> Literal["arrow", "parquet"]:
    return "arrow" if format == "arrow" else "parquet"
