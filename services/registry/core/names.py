"""Refusals with a stable code and a reason, and the rules for texts and paths of any kind."""

import re
from dataclasses import dataclass

PATH_BYTES = 1024
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class InputRefusal:
    """Why an input is rejected."""

    code: str
    reason: str


def refuse_path(path: str) -> InputRefusal | None:
    """Return why a manifest may not contain a file with this path; None if it may.

    Paths are only data here (keys come from ids), but they become file paths on the machine that downloads them.
    """
    parts = path.split("/")
    if not path or len(path.encode("utf-8", "surrogatepass")) > PATH_BYTES or not is_text(path):
        return InputRefusal("path_length", f"A path in a manifest must have 1 to {PATH_BYTES} bytes of text.")
    if path.startswith("/") or "\\" in path or CONTROL.search(path):
        return InputRefusal(
            "path_unsafe",
            f"The path {path!r} must be relative, with '/' as separator and no control characters.",
        )
    if any(part in ("", ".", "..") for part in parts):
        return InputRefusal("path_unsafe", f"The path {path!r} must not contain empty parts, '.' or '..'.")
    return None


def is_text(name: str) -> bool:
    """Return whether Postgres can store it: no NUL and no lone surrogates."""
    return "\x00" not in name and not any("\ud800" <= mark <= "\udfff" for mark in name)
