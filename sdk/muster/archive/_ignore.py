"""Files that are not packed: caches, likely secrets, and those named in an ignore file, in `.gitignore` syntax."""

import re
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Reason = Literal["cache", "secret", "file"]
"""Why an entry is left out: it is a cache, it looks like a secret (or a history), or an ignore file names it."""

IGNORE_FILES = (".musterignore", ".detignore")
GIT_IGNORE = ".gitignore"
"""Used if the packed folder has no other ignore file; `.gitignore` files in subfolders apply too.

Patterns with `!` in a `.gitignore` cancel only its own patterns, never the default rules, because it is not written for uploads.
"""
CACHES = (
    "__pycache__",
    "*.pyc",
    ".venv",
    ".DS_Store",
    ".ipynb_checkpoints",
)
SECRETS = (
    ".git",
    ".hg",
    ".svn",
    ".muster",
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    "**/.config/gcloud",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
    "credentials*.json",
    "client_secret*.json",
    "service_account*.json",
    "service-account*.json",
    "application_default_credentials.json",
    "kaggle.json",
    "storage_state*.json",
    "storageState*.json",
    ".mozilla",
    "**/.config/google-chrome",
    "**/.config/chromium",
    ".bash_history",
    ".zsh_history",
    ".python_history",
)
MARKS = (("Local State",), ("Login Data",), ("cookies.sqlite",), ("client.json", "secrets"))
"""A folder that contains all entries of one of these is a browser profile, or a platform's own folder with another name than .muster."""

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_POSIX_CLASS = re.compile(rf"\[:({'|'.join(_POSIX_CLASSES)}):\]")
_ALL_BELOW = re.compile(r"/\*\*(/?)\s*$")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern; it applies within `base`, the folder of its file (empty, or ending with a slash).

    `overrides_usual`: whether an including pattern also overrides the default rules.
    """

    pattern: re.Pattern[str]
    takes_in: bool
    reason: Reason
    base: str = ""
    overrides_usual: bool = True

    def names(self, path: str) -> bool:
        """Whether the pattern matches this entry; folders end with a slash. Patterns of pathspec also match everything below an entry."""
        if not path.startswith(self.base):
            return False
        inside = path[len(self.base) :]
        start = inside.rstrip("/").rfind("/") + 1
        return any(found.end() > start for found in self.pattern.finditer(inside))


def read_rules(
    lines: Iterable[str], reason: Reason, base: str = "", *, overrides_usual: bool = True
) -> tuple[Rule, ...]:
    """Parse the lines of an ignore file, without blank lines, comments, and invalid patterns (as Git does)."""
    patterns = (_pattern(line) for line in lines)
    return tuple(
        Rule(pattern.regex, not pattern.include, reason, base, overrides_usual)
        for pattern in patterns
        if pattern is not None and pattern.regex is not None
    )


@cache
def usual_rules() -> tuple[Rule, ...]:
    """Return the default rules; rules of an ignore file come after them."""
    return (*read_rules(CACHES, "cache"), *read_rules(SECRETS, "secret"))


def deciding_rule(path: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the last rule that matches a path, or None; folder paths end with a slash.

    If an including rule does not override the default rules, the default rules decide.
    """
    is_usual_left = False
    for rule in reversed(rules):
        if (is_usual_left and rule.reason == "file") or not rule.names(path):
            continue
        if rule.takes_in and not rule.overrides_usual:
            is_usual_left = True
            continue
        return rule
    return None


def is_private(entries: AbstractSet[str]) -> bool:
    """Whether a folder with these entries is private, by `MARKS`."""
    return any(entries >= frozenset(mark) for mark in MARKS)


def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    try:
        # pathspec reads `a/**` as `a` itself, Git as everything below it.
        return GitIgnoreSpecPattern(_ALL_BELOW.sub(r"/**/*\1", _POSIX_CLASS.sub(_expand, line)))
    except (GitIgnorePatternError, re.error):
        return None


def _expand(found: re.Match[str]) -> str:
    """Expand a class such as `[:digit:]` inside brackets, which pathspec does not support."""
    before = found.string[: found.start()]
    return _POSIX_CLASSES[found[1]] if before.count("[") > before.count("]") else found[0]
