"""Why something is not taken, with a stable code and a reason; and what texts and paths may hold, whatever they name."""

import re
from dataclasses import dataclass

PATH_BYTES = 1024
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class InputRefusal:
    """Why something is not taken."""

    code: str
    reason: str


def refuse_path(path: str) -> InputRefusal | None:
    """Return why a manifest may not hold a file under this path; None when it may.

    Paths are data here (keys come from ids), but they become paths again on whoever downloads them.
    """
    parts = path.split("/")
    if not path or len(path.encode("utf-8", "surrogatepass")) > PATH_BYTES or not is_text(path):
        return InputRefusal("path_length", f"A path of a manifest has 1 to {PATH_BYTES} bytes of text.")
    if path.startswith("/") or "\\" in path or CONTROL.search(path):
        return InputRefusal(
            "path_unsafe",
            f"The path {path!r} must be relative, with '/' between plain names.",
        )
    if any(part in ("", ".", "..") for part in parts):
        return InputRefusal("path_unsafe", f"The path {path!r} must not hold empty parts, '.' or '..'.")
    return None


def is_text(name: str) -> bool:
    """Return whether Postgres stores it: neither NUL nor lone surrogates."""
    return "\x00" not in name and not any("\ud800" <= mark <= "\udfff" for mark in name)
