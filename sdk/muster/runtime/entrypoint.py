"""Classification of a user's command: Python for a fork of the warm parent, or another program. Pure."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_SHELL_SIGNS = re.compile(r"[;&|<>$`\\\n*?\[\]{}()~#!]")
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


@dataclass(frozen=True, slots=True)
class Script:
    """`python path arguments…`"""

    path: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """`python -m name arguments…`"""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExternalCommand:
    """Any other command, executed in a new program."""

    argv: tuple[str, ...]


def read_entrypoint(command: str | Sequence[str], interpreter: str) -> Script | Module | ExternalCommand:
    """Parse a command. A list is taken as arguments; a string is parsed as a shell would.

    Python is recognised by the names `python`, `python3`, `python3.x` and the path of `interpreter`, with `-u` as the only flag;
    a bare `train.py` is also run by Python. Commands that need a shell (pipes, variables, patterns) run in one.
    """
    if isinstance(command, str):
        if _SHELL_SIGNS.search(_without_quoted(command)) or _sets_variable(command):
            return ExternalCommand(("/bin/sh", "-c", command))
        try:
            arguments = shlex.split(command)
        except ValueError:
            return ExternalCommand(("/bin/sh", "-c", command))
    else:
        arguments = list(command)
    return _classify(arguments, command, interpreter)


def _classify(
    arguments: list[str], command: str | Sequence[str], interpreter: str
) -> Script | Module | ExternalCommand:
    if arguments and arguments[0].endswith(".py") and "/" not in arguments[0].lstrip("./"):
        return Script(arguments[0], tuple(arguments[1:]))
    if not arguments or not (_PYTHON.fullmatch(arguments[0]) or arguments[0] == interpreter):
        return ExternalCommand(("/bin/sh", "-c", command) if isinstance(command, str) else tuple(arguments))
    rest = arguments[1:]
    while rest and rest[0] == "-u":
        rest = rest[1:]
    if len(rest) >= 2 and rest[0] == "-m":
        return Module(rest[1], tuple(rest[2:]))
    if rest and not rest[0].startswith("-") and PurePosixPath(rest[0]).suffix == ".py":
        return Script(rest[0], tuple(rest[1:]))
    return ExternalCommand((interpreter, *arguments[1:]))


def _without_quoted(command: str) -> str:
    """The command without single-quoted parts, in which no character is special."""
    return re.sub(r"'[^']*'", "", command)


def _sets_variable(command: str) -> bool:
    return re.match(r"\s*[A-Za-z_][A-Za-z0-9_]*=", command) is not None
