"""File patterns: `*` and `?` within a name, `**` across folders, and a folder for all its files."""

import re
from functools import cache

_MARKS = re.compile(r"\*\*/|\*\*|\*|\?")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, pattern: str) -> bool:
    """Return whether a relative path with forward slashes matches a pattern."""
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix("./").rstrip("/")
    out, at = [], 0
    for mark in _MARKS.finditer(pattern):
        out += [re.escape(pattern[at : mark.start()]), _MEANING[mark.group()]]
        at = mark.end()
    return re.compile("".join(out) + re.escape(pattern[at:]) + "(?:/.*)?", re.DOTALL)
