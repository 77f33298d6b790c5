"""What of a folder is not packed: caches, likely secrets, and what an ignore file names, in the language of `.gitignore`."""

import re
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern: it holds within `base`, the folder of its file (empty, or with a slash at its end).

    `overrides_usual`: where it takes in, also what the usual rules leave out.
    """

    pattern: re.Pattern[str]
    takes_in: bool
    is_for_folders: bool
    reason: Reason
    base: str = ""
    overrides_usual: bool = True


def read_rules(
    lines: Iterable[str], reason: Reason, base: str = "", *, overrides_usual: bool = True
) -> tuple[Rule, ...]:
    """Return the rules of an ignore file's lines: blank ones and comments say nothing, `!` takes in again."""
    return tuple(
        _rule(line.strip(), reason, base, overrides_usual)
        for line in lines
        if line.strip() and line[0] != "#"
    )


@cache
def usual_rules() -> tuple[Rule, ...]:
    """Return the rules that hold for every folder; those of an ignore file come behind them."""
    return (*read_rules(CACHES, "cache"), *read_rules(SECRETS, "secret"))


def deciding_rule(name: str, is_folder: bool, rules: Sequence[Rule]) -> Rule | None:
    """Return the last rule that speaks of a path; None where none does.

    Behind one that takes in and does not override the usual rules, these decide.
    """
    is_usual_left = False
    for rule in reversed(rules):
        if (is_usual_left and rule.reason == "file") or not name.startswith(rule.base):
            continue
        if (rule.is_for_folders and not is_folder) or not rule.pattern.fullmatch(name[len(rule.base) :]):
            continue
        if rule.takes_in and not rule.overrides_usual:
            is_usual_left = True
            continue
        return rule
    return None


def is_private(entries: AbstractSet[str]) -> bool:
    """Whether a folder with these entries is one of those that `MARKS` tells."""
    return any(entries >= frozenset(mark) for mark in MARKS)


def _rule(line: str, reason: Reason, base: str, overrides_usual: bool) -> Rule:
    takes_in = line.startswith("!")
    pattern = line.removeprefix("!").removeprefix("\\")
    is_for_folders = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    is_anchored = "/" in pattern
    start, wanted = "" if is_anchored else "(?:.*/)?", pattern.removeprefix("/")
    return Rule(
        _compiled(start, wanted),
        takes_in,
        is_for_folders,
        reason,
        base,
        overrides_usual,
    )


def _compiled(start: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(start + _regex(pattern), re.DOTALL)
    except re.error:
        return re.compile(start + re.escape(pattern), re.DOTALL)


def _regex(pattern: str) -> str:
    written, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            written, at = written + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            written, at = written + ".*", at + 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\")
            written += f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
            at = end + 1
        else:
            written += {"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at]))
            at += 1
    return written
