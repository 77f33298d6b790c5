"""Where settings come from: the environment, files of systemd's `EnvironmentFile` format, or the file of `muster worker join`."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.errors import Rejected
from shared.settings import PREFIX
from worker.connection.join_command import JOIN_FILE, JoinOptions, default_directory, resolve

ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a variable and its source: `environment` or `FILE:LINE`."""

    text: str
    source: str


Values = Mapping[str, Value]
"""Variables of Muster by name, in upper case."""


def read_values(files: Sequence[Path]) -> Values:
    """Return the variables of the files, later ones first; without files those of the environment and, if it has none of a worker, of this machine's join.

    Raises:
        Rejected: A file cannot be read, or a line is not `NAME=VALUE`.
    """
    if files:
        return {name: value for file in files for name, value in _read_file(file)}
    found = {
        name.upper(): Value(text, ENVIRONMENT)
        for name, text in os.environ.items()
        if name.upper().startswith(PREFIX)
    }
    has_worker = any(name.startswith("MUSTER_WORKER__") for name in found)
    return found if has_worker else {**_joined(), **found}


@contextmanager
def as_environment(values: Values) -> Iterator[None]:
    """Replace Muster's variables in this process's environment for the block: settings classes read only the environment."""
    before = {name: text for name, text in os.environ.items() if name.upper().startswith(PREFIX)}
    _replace(before, {name: value.text for name, value in values.items()})
    try:
        yield
    finally:
        _replace(values, before)


def _replace(old: Mapping[str, object], new: Mapping[str, str]) -> None:
    for name in old:
        os.environ.pop(name, None)
    os.environ.update(new)


def _read_file(file: Path) -> Iterator[tuple[str, Value]]:
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Rejected(
            "file_unreadable",
            f"{file} cannot be read: {why}",
            place="--env-file",
            hint="name a readable file with one NAME=VALUE per line; run the command as the user of the process",
        ) from error
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(("#", ";")):
            continue
        name, is_assignment, value = text.partition("=")
        if not is_assignment or not name.strip().replace("_", "a").isalnum():
            raise Rejected(
                "file_invalid",
                f"line {number} of {file} is not NAME=VALUE",
                place="--env-file",
                hint="write one assignment per line, without `export`",
            )
        if name.strip().upper().startswith(PREFIX):
            yield name.strip().upper(), Value(_unquoted(value.strip()), f"{file}:{number}")


def _unquoted(text: str) -> str:
    """Return a value without the quotes around it, as systemd reads it."""
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return text
    try:
        return "".join(shlex.split(text))
    except ValueError:
        return text


def _joined() -> dict[str, Value]:
    """Return the settings that `muster worker join` stored on this machine."""
    folder = default_directory()
    try:
        if not (folder / JOIN_FILE).exists():
            return {}
        joining = resolve(JoinOptions(), folder)
    except (OSError, Rejected):
        return {}
    source = str(folder / JOIN_FILE)
    return {name: Value(text, source) for name, text in joining.environment(folder).items()}
