"""`muster experiment code`: what the code of an experiment was."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Number
from muster.cli.base.output import emit, note, printable, size, table

if TYPE_CHECKING:
    from muster.client.models import CodeFileText

Path = Annotated[str | None, typer.Argument(help="A file to print; by default all are listed.")]


def add_code(app: typer.Typer) -> None:
    """Add the verb to `muster experiment`."""
    verb(app, "code")(code)


def code(experiment: Number, path: Path = None) -> None:
    """List the files of an experiment's code, or print one of them."""
    from muster.client import connect

    with connect() as client:
        if path is None:
            found = client.experiments.code(experiment)
            rows = [(file.path, size(file.size_bytes), file.sha256[:12]) for file in found.files]
            emit(found, lambda: table(("path", ">size", "sha256"), rows, "its code has no file"))
            return
        file = client.experiments.code_file(experiment, path)
    emit(file, lambda: _print(file))


def _print(file: "CodeFileText") -> None:
    if file.text is None:
        note("{} is no text: {}, SHA-256 {}", file.path, size(file.size_bytes), file.sha256)
        return
    # Where it goes into a file or a program it stays what it is; a terminal must not be steered by it.
    is_seen = sys.stdout.isatty()
    print("\t".join(map(printable, file.text.split("\t"))) if is_seen else file.text, end="")
    if file.is_cut:
        note("[yellow]these are its first 192 KiB of {}[/]", size(file.size_bytes))
