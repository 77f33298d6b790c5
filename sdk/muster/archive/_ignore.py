"""What of a folder is not packed: caches, likely secrets, and what an ignore file names, in the language of `.gitignore`."""

import re
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Reason = Literal["cache", "secret", "file"]
"""Why something stays out: it is made anew by whoever needs it, it looks like a secret (or a history), or an ignore file names it."""

IGNORE_FILES = (".musterignore", ".detignore")
GIT_IGNORE = ".gitignore"
"""Used where none of the others is in the packed folder; those in folders below hold for these.

It was not written for what is sent: its `!` undoes its own patterns alone, never the usual rules.
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
"""A folder that holds all of one of these is a browser's profile, or a platform's own folder under another name than .muster."""

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_POSIX_CLASS = re.compile(rf"\[:({'|'.join(_POSIX_CLASSES)}):\]")
_ALL_BELOW = re.compile(r"/\*\*(/?)\s*$")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern: it applies within `base`, the folder of its file (empty, or with a slash at its end).

    `overrides_usual`: where it takes in, also what the usual rules leave out.
    """

    pattern: re.Pattern[str]
    takes_in: bool
    reason: Reason
    base: str = ""
    overrides_usual: bool = True

    def names(self, path: str) -> bool:
        """Whether it names this entry; folders end with a slash. The patterns of pathspec also match all that is below an entry."""
        if not path.startswith(self.base):
            return False
        inside = path[len(self.base) :]
        start = inside.rstrip("/").rfind("/") + 1
        return any(found.end() > start for found in self.pattern.finditer(inside))


def read_rules(
    lines: Iterable[str], reason: Reason, base: str = "", *, overrides_usual: bool = True
) -> tuple[Rule, ...]:
    """Return the rules of an ignore file's lines, without blank lines, comments, and what is no pattern (as Git does)."""
    patterns = (_pattern(line) for line in lines)
    return tuple(
        Rule(pattern.regex, not pattern.include, reason, base, overrides_usual)
        for pattern in patterns
        if pattern is not None and pattern.regex is not None
    )


@cache
def usual_rules() -> tuple[Rule, ...]:
    """Return the rules that hold for every folder; those of an ignore file come behind them."""
    return (*read_rules(CACHES, "cache"), *read_rules(SECRETS, "secret"))


def deciding_rule(path: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the last rule that names a path, which ends with a slash where it is a folder; None where none does.

    Behind one that takes in and does not override the usual rules, these decide.
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
    """Whether a folder with these entries is one of those that `MARKS` tells."""
    return any(entries >= frozenset(mark) for mark in MARKS)


def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    try:
        # To pathspec `a/**` is `a` itself; to Git it is whatever is below.
        return GitIgnoreSpecPattern(_ALL_BELOW.sub(r"/**/*\1", _POSIX_CLASS.sub(_expand, line)))
    except (GitIgnorePatternError, re.error):
        return None


def _expand(found: re.Match[str]) -> str:
    """The characters of a class such as `[:digit:]` inside brackets, which pathspec does not know."""
    before = found.string[: found.start()]
    return _POSIX_CLASSES[found[1]] if before.count("[") > before.count("]") else found[0]
