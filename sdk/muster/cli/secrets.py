"""`muster secret`: secrets of workspaces."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import OfWorkspace, SecretName
from muster.cli.base.output import emit, note
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

app = NOUNS["secret"].app


@verb(app, "set")
def set_secret(
    name: SecretName,
    workspace: OfWorkspace,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the value from this file.", dir_okay=False)
    ] = None,
) -> None:
    """Create a secret or replace its value, read from standard input or a file.

    The value is never an argument, because other users of the machine can see the arguments of processes. Runs that start afterwards
    get the new value; experiments need not be submitted again.
    """
    from muster.client import connect

    value = _read(file)
    with connect() as client:
        found = client.secrets.set(workspace, name, value)
    emit(found, lambda: note("secret {} of workspace {} set", found.name, found.workspace))


def _read(file: Path | None) -> str:
    """Return the value. A newline at the end of a single line is not part of it; in a text of several lines, such as a key, it is."""
    if file is None and sys.stdin.isatty():
        return str(typer.prompt("value", hide_input=True))
    try:
        value = file.read_bytes() if file is not None else sys.stdin.buffer.read()
        text = value.decode()
    except OSError as error:
        raise Rejected("file_unreadable", f"{file} cannot be read: {error.strerror}", "--file") from None
    except UnicodeDecodeError:
        raise Rejected(
            "invalid_value",
            "the value is not UTF-8 text",
            hint="encode binary values, such as with `base64`, and decode them in the script",
        ) from None
    single = text.rstrip("\r\n")
    return text if "\n" in single else single
