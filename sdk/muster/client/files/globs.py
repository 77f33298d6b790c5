"""Which files a person means: `*` and `?` within a name, `**` over folders, and a folder for all that is in it."""

import re
from functools import cache

_MARKS = re.compile(r"\*\*/|\*\*|\*|\?")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, pattern: str) -> bool:
    """Return whether a relative path with forward slashes is meant by a pattern."""
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix("./").rstrip("/")
    out, at = [], 0
    for mark in _MARKS.finditer(pattern):
        out += [re.escape(pattern[at : mark.start()]), _MEANING[mark.group()]]
        at = mark.end()
    return re.compile("".join(out) + re.escape(pattern[at:]) + "(?:/.*)?", re.DOTALL)
