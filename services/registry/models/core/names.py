"""Rules for names of models, aliases and tags, and for the number of approvals of a stage."""

import re
from collections.abc import Mapping, Sequence

from services.registry.core.names import CONTROL, InputRefusal, is_text
from shared.messages.models import Stage

MODEL_NAME_CHARACTERS = 128
TAGS_KEPT = 32
TAG_CHARACTERS = 64
APPROVALS_AT_MOST = 10
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def refuse_model_name(name: str) -> InputRefusal | None:
    """Return why a model name is rejected; None if it is valid. (Determined 0.38: no slash, not only digits, not blank)"""
    if not name.strip():
        return InputRefusal("model_name_blank", "The model name must not be blank.")
    if name != name.strip():
        return InputRefusal(
            "model_name_blank", f"The model name {name!r} must not begin or end with white space."
        )
    if len(name) > MODEL_NAME_CHARACTERS:
        return InputRefusal(
            "model_name_long",
            f"The model name has {len(name)} characters; at most {MODEL_NAME_CHARACTERS} are allowed.",
        )
    if any(mark in name for mark in "/\\@:") or CONTROL.search(name) or not is_text(name):
        return InputRefusal(
            "model_name_characters",
            f"The model name {name!r} must not contain / \\ @ : or control characters.",
        )
    if name.isdigit():
        return InputRefusal(
            "model_name_digits",
            f"The model name {name!r} must not consist of digits only, because it would look like an id.",
        )
    if name in (".", ".."):
        return InputRefusal("model_name_characters", "The model name must not be '.' or '..'.")
    return None


def refuse_alias(alias: str) -> InputRefusal | None:
    """Return why an alias is rejected; None if it is valid."""
    if not _ALIAS.fullmatch(alias) or alias.isdigit() or alias.lower() == "latest":
        return InputRefusal(
            "alias_characters",
            f"The alias {alias[:64]!r} must start with a letter or digit and have at most 64 letters, digits, '.', '_' or '-', and must not be only digits or 'latest'.",
        )
    return None


def refuse_tags(tags: Sequence[str]) -> InputRefusal | None:
    """Return why tags are rejected; None if they are valid."""
    if len(tags) > TAGS_KEPT:
        return InputRefusal("tags_too_many", f"There are {len(tags)} tags; at most {TAGS_KEPT} are allowed.")
    for tag in tags:
        if not tag.strip() or len(tag) > TAG_CHARACTERS or CONTROL.search(tag) or not is_text(tag):
            return InputRefusal(
                "tag_characters",
                f"The tag {tag[:TAG_CHARACTERS]!r} must have 1 to {TAG_CHARACTERS} printable characters.",
            )
    return None


def change_tags(tags: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return the tags with some added and some removed, in order; a tag that is both added and removed is left out."""
    return [tag for tag in dict.fromkeys([*tags, *added]) if tag not in removed]


def refuse_approvals(approvals: Mapping[Stage, int]) -> InputRefusal | None:
    """Return why numbers of approvals are rejected; None if they are valid."""
    for stage, count in approvals.items():
        if not 0 <= count <= APPROVALS_AT_MOST:
            return InputRefusal(
                "approvals_range",
                f"The number of approvals for '{stage}' must be from 0 to {APPROVALS_AT_MOST}, not {count}.",
            )
    return None


def model_key(name: str) -> str:
    """Return the name in the form used for comparison: names differing only in case are equal."""
    return name.casefold()
