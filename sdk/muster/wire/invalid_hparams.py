"""Invalid hyperparameters, as reported by a script: an exit code and a line on stderr. Both survive a restart of the worker's daemon."""

EXIT_INVALID = 65
"""EX_DATAERR of sysexits.h. It counts only together with the line on stderr."""
MAX_REASON_CHARACTERS = 1000
_MARK = "muster: invalid hyperparameters: "


def invalid_text(reason: str) -> str:
    """Return the line that reports the reason."""
    return _MARK + " ".join(reason.split())[:MAX_REASON_CHARACTERS]


def read_invalid(output: bytes) -> str | None:
    """Return the last reason in the output of a rank, or None."""
    lines = (line.decode("utf-8", errors="replace") for line in reversed(output.splitlines()))
    found = next((line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)), None)
    return found and found[:MAX_REASON_CHARACTERS].replace("\x00", "\ufffd")
