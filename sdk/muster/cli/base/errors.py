"""Turn errors into one message on stderr and an exit code.

0 success, 1 the experiment failed, 2 invalid command line, 3 rejected, 4 not found, 5 conflict,
6 unreachable or busy (retry), 7 internal error, 130 interrupted.
"""

import json
import sys
import traceback

from muster.cli.base.output import console, out, printable
from muster.errors import Broken, Conflict, MusterError, NotFound, Rejected, Transient, to_problem

_EXIT_CODES: tuple[tuple[type[MusterError], int], ...] = (
    (NotFound, 4),
    (Rejected, 3),
    (Conflict, 5),
    (Transient, 6),
    (Broken, 7),
)

_HINTS = {"unauthenticated": "sign in with `muster login URL`, or set MUSTER_TOKEN"}
"""Hints that replace the platform's own, which describe HTTP."""


def explain(error: MusterError) -> int:
    """Print the error with its place and hint; return the exit code."""
    if out.debug:
        traceback.print_exception(error)
    if out.json:
        print(json.dumps(to_problem(error)), file=sys.stderr)
    else:
        print_sentence(sentence(error))
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 7)


def explain_crash(error: Exception) -> int:
    """Print an unexpected exception; return the exit code."""
    description = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    fault = Broken(
        f"this command failed with an unexpected error ({description}): run it again with --debug for the traceback, and report it"
    )
    fault.__cause__ = error
    return explain(fault)


def sentence(error: MusterError) -> str:
    """Return `message, at place: hint`."""
    text = f"{error.message}, at {error.place}" if error.place else error.message
    hint = _HINTS.get(error.code, error.hint)
    return f"{text}: {hint}" if hint else text


def print_sentence(text: str) -> None:
    """Print one red message on stderr."""
    from rich.text import Text

    console(stderr=True).print(Text(f"muster: {printable(text)}", style="red"), soft_wrap=True)
