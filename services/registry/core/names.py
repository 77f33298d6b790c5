"""What may be called how: metrics, models, files of a manifest. Each refusal has a stable code and a reason."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from shared.messages.models import Stage

METRIC_NAME_BYTES = 256
METRICS_PER_REPORT = 1_000
SERIES_PER_RUN = 10_000
VALIDATION_GROUP = "validation"
"""Of what is validated."""
SeriesName = tuple[str, str]
"""Group and name."""
MODEL_NAME_CHARACTERS = 128
PATH_BYTES = 1024
FILES_PER_MANIFEST = 1_000
FILE_BYTES = 5 * 1024**4
"""S3's own bound of an object, however many parts it comes in."""
TAGS_KEPT = 32
TAG_CHARACTERS = 64
APPROVALS_AT_MOST = 10

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not taken."""

    code: str
    reason: str


def refuse_metric_name(name: str) -> Refusal | None:
    """Return why a metric may not be called so; None when it may."""
    return _refuse_long_name(name) if len(name) > METRIC_NAME_BYTES else _refuse_short_name(name)


@lru_cache(maxsize=16_384)
def _refuse_short_name(name: str) -> Refusal | None:
    """Kept in mind: every point has a name, and nearly all are known."""
    if not name.strip():
        return Refusal("metric_name_blank", "A metric needs a name.")
    if len(name.encode("utf-8", "surrogatepass")) > METRIC_NAME_BYTES:
        return _refuse_long_name(name)
    if _CONTROL.search(name) or not _is_text(name):
        return Refusal(
            "metric_name_characters",
            f"The metric name {name!r} has characters that cannot be shown.",
        )
    return None


def _refuse_long_name(name: str) -> Refusal:
    reason = f"The metric name {name[:40]!r}… has more than {METRIC_NAME_BYTES} bytes; shorten it."
    return Refusal("metric_name_long", reason)


def refuse_report(names: int) -> Refusal | None:
    """Return why a report with so many metrics is not taken; None when it is."""
    if names <= METRICS_PER_REPORT:
        return None
    return Refusal(
        "metrics_too_many",
        f"One report holds {names} metrics; at most {METRICS_PER_REPORT} are taken. "
        "Save large tables as files of a checkpoint.",
    )


def choose_new_series(
    known: Collection[SeriesName], new: Sequence[SeriesName]
) -> tuple[Sequence[SeriesName], Refusal | None]:
    """Return which series a run may begin, and why not the others: the first ones, as many as there is room for.

    Validations, by which searches go, have room of their own: a flood of other names takes none of it.
    """
    begun: list[SeriesName] = []
    for is_validation in (True, False):
        held = sum((group == VALIDATION_GROUP) is is_validation for group, _ in known)
        wanted = [name for name in new if (name[0] == VALIDATION_GROUP) is is_validation]
        begun += wanted[: max(0, SERIES_PER_RUN - held)]
    if len(begun) == len(new):
        return begun, None
    return begun, Refusal(
        "series_too_many",
        f"The run would have {len(known) + len(new)} metric names; at most {SERIES_PER_RUN} are kept, and as many of validations. "
        "Use few names and many steps.",
    )


def refuse_model_name(name: str) -> Refusal | None:
    """Return why a model may not be called so; None when it may. (Determined 0.38: no slash, not digits, not blank)"""
    if not name.strip():
        return Refusal("model_name_blank", "A model needs a name.")
    if name != name.strip():
        return Refusal("model_name_blank", f"The model name {name!r} begins or ends with a space.")
    if len(name) > MODEL_NAME_CHARACTERS:
        return Refusal(
            "model_name_long",
            f"A model name has at most {MODEL_NAME_CHARACTERS} characters.",
        )
    if any(mark in name for mark in "/\\@:") or _CONTROL.search(name) or not _is_text(name):
        return Refusal(
            "model_name_characters",
            f"The model name {name!r} may not hold / \\ @ : or control characters.",
        )
    if name.isdigit():
        return Refusal(
            "model_name_digits",
            f"The model name {name!r} is only digits, which would read as an id.",
        )
    if name in (".", ".."):
        return Refusal("model_name_characters", "A model may not be called '.' or '..'.")
    return None


def refuse_alias(alias: str) -> Refusal | None:
    """Return why an alias may not be called so; None when it may."""
    if not _ALIAS.fullmatch(alias) or alias.isdigit() or alias.lower() == "latest":
        return Refusal(
            "alias_characters",
            f"The alias {alias[:64]!r} must be letters, digits, '.', '_' or '-', not only digits, and not 'latest'.",
        )
    return None


def refuse_tags(tags: Sequence[str]) -> Refusal | None:
    """Return why these tags are not taken; None when they are."""
    if len(tags) > TAGS_KEPT:
        return Refusal("tags_too_many", f"There are {len(tags)} tags; at most {TAGS_KEPT} are kept.")
    for tag in tags:
        if not tag.strip() or len(tag) > TAG_CHARACTERS or _CONTROL.search(tag) or not _is_text(tag):
            return Refusal(
                "tag_characters",
                f"The tag {tag[:TAG_CHARACTERS]!r} must have 1 to {TAG_CHARACTERS} characters that can be shown.",
            )
    return None


def change_tags(tags: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return the tags with some added and some taken away, in the order in which they came; a tag that is both stays away."""
    return [tag for tag in dict.fromkeys([*tags, *added]) if tag not in removed]


def refuse_approvals(approvals: Mapping[Stage, int]) -> Refusal | None:
    """Return why so many approvals cannot be asked for; None when they can."""
    for stage, count in approvals.items():
        if not 0 <= count <= APPROVALS_AT_MOST:
            return Refusal(
                "approvals_range",
                f"The approvals for '{stage}' are a number from 0 to {APPROVALS_AT_MOST}, not {count}.",
            )
    return None


def model_key(name: str) -> str:
    """Return the form in which names are compared: two models differ in more than case."""
    return name.casefold()


def refuse_path(path: str) -> Refusal | None:
    """Return why a manifest may not hold a file under this path; None when it may.

    Paths are data here (keys come from ids), but they become paths again on whoever downloads them.
    """
    parts = path.split("/")
    if not path or len(path.encode("utf-8", "surrogatepass")) > PATH_BYTES or not _is_text(path):
        return Refusal("path_length", f"A path of a manifest has 1 to {PATH_BYTES} bytes of text.")
    if path.startswith("/") or "\\" in path or _CONTROL.search(path):
        return Refusal(
            "path_unsafe",
            f"The path {path!r} must be relative, with '/' between plain names.",
        )
    if any(part in ("", ".", "..") for part in parts):
        return Refusal("path_unsafe", f"The path {path!r} must not hold empty parts, '.' or '..'.")
    return None


def refuse_manifest(files: list[tuple[str, int, str]]) -> Refusal | None:
    """Return why a manifest of (path, size in bytes, SHA-256 in hex) is not taken; None when it is."""
    if not 0 < len(files) <= FILES_PER_MANIFEST:
        return Refusal(
            "manifest_length",
            f"A manifest holds 1 to {FILES_PER_MANIFEST} files, not {len(files)}.",
        )
    seen: set[str] = set()
    for path, size_bytes, sha256 in files:
        if refusal := refuse_path(path):
            return refusal
        if path in seen:
            return Refusal("path_twice", f"The path {path!r} stands twice in the manifest.")
        if not 0 <= size_bytes <= FILE_BYTES or not _SHA256.fullmatch(sha256):
            return Refusal(
                "manifest_entry",
                f"The file {path!r} needs a size of at most {FILE_BYTES} bytes and a SHA-256 of 64 hex digits.",
            )
        seen.add(path)
    for path in seen:
        if any(parent in seen for parent in _parents(path)):
            return Refusal(
                "path_twice",
                f"The path {path!r} lies under another file of the manifest.",
            )
    return None


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _is_text(name: str) -> bool:
    """Postgres stores neither NUL nor lone surrogates."""
    return "\x00" not in name and not any("\ud800" <= mark <= "\udfff" for mark in name)
