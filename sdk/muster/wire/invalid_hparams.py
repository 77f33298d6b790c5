"""Hyperparameters that make no sense, as a script says so: an exit code with a line on stderr. Both outlive the worker's daemon."""

EXIT_INVALID = 65
"""EX_DATAERR of sysexits.h. Alone it means nothing special: the line must be there too."""
MAX_REASON_CHARACTERS = 1000
_MARK = "muster: invalid hyperparameters: "


def invalid_text(reason: str) -> str:
    """The one line that says it."""
    return _MARK + " ".join(reason.split())[:MAX_REASON_CHARACTERS]


def read_invalid(output: bytes) -> str | None:
    """The reason that an output of a rank gives last; None where it gives none."""
    lines = (line.decode("utf-8", errors="replace") for line in reversed(output.splitlines()))
    return next((line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)), None)
