"""`muster experiment code`: the code snapshot of an experiment."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Number
from muster.cli.base.output import emit, note, printable, size, table

if TYPE_CHECKING:
    from muster.client.models import CodeFileText

Path = Annotated[str | None, typer.Argument(help="File to print; by default list all files.")]


def add_code(app: typer.Typer) -> None:
    """Add the verb to `muster experiment`."""
    verb(app, "code")(code)


def code(experiment: Number, path: Path = None) -> None:
    """List the files of an experiment's code snapshot, or print one of them."""
    from muster.client import connect

    with connect() as client:
        if path is None:
            found = client.experiments.code(experiment)
            rows = [(file.path, size(file.size_bytes), file.sha256[:12]) for file in found.files]
            emit(found, lambda: table(("path", ">size", "sha256"), rows, "the code snapshot is empty"))
            return
        file = client.experiments.code_file(experiment, path)
    emit(file, lambda: _print(file))


def _print(file: "CodeFileText") -> None:
    if file.text is None:
        note("{} is not a text file: {}, SHA-256 {}", file.path, size(file.size_bytes), file.sha256)
        return
    # A terminal gets control characters replaced; files and pipes get the text unchanged.
    is_seen = sys.stdout.isatty()
    print("\t".join(map(printable, file.text.split("\t"))) if is_seen else file.text, end="")
    if file.is_cut:
        note("[yellow]only the first 192 KiB of {} are shown[/]", size(file.size_bytes))
