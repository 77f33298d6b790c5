"""How models, aliases and tags may be called, and how many approvals a stage may ask for."""

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
    """Return why a model may not be called so; None when it may. (Determined 0.38: no slash, not digits, not blank)"""
    if not name.strip():
        return InputRefusal("model_name_blank", "A model needs a name.")
    if name != name.strip():
        return InputRefusal("model_name_blank", f"The model name {name!r} begins or ends with a space.")
    if len(name) > MODEL_NAME_CHARACTERS:
        return InputRefusal(
            "model_name_long",
            f"A model name has at most {MODEL_NAME_CHARACTERS} characters.",
        )
    if any(mark in name for mark in "/\\@:") or CONTROL.search(name) or not is_text(name):
        return InputRefusal(
            "model_name_characters",
            f"The model name {name!r} may not hold / \\ @ : or control characters.",
        )
    if name.isdigit():
        return InputRefusal(
            "model_name_digits",
            f"The model name {name!r} is only digits, which would read as an id.",
        )
    if name in (".", ".."):
        return InputRefusal("model_name_characters", "A model may not be called '.' or '..'.")
    return None


def refuse_alias(alias: str) -> InputRefusal | None:
    """Return why an alias may not be called so; None when it may."""
    if not _ALIAS.fullmatch(alias) or alias.isdigit() or alias.lower() == "latest":
        return InputRefusal(
            "alias_characters",
            f"The alias {alias[:64]!r} must be letters, digits, '.', '_' or '-', not only digits, and not 'latest'.",
        )
    return None


def refuse_tags(tags: Sequence[str]) -> InputRefusal | None:
    """Return why these tags are not taken; None when they are."""
    if len(tags) > TAGS_KEPT:
        return InputRefusal("tags_too_many", f"There are {len(tags)} tags; at most {TAGS_KEPT} are kept.")
    for tag in tags:
        if not tag.strip() or len(tag) > TAG_CHARACTERS or CONTROL.search(tag) or not is_text(tag):
            return InputRefusal(
                "tag_characters",
                f"The tag {tag[:TAG_CHARACTERS]!r} must have 1 to {TAG_CHARACTERS} characters that can be shown.",
            )
    return None


def change_tags(tags: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return the tags with some added and some taken away, in the order in which they came; a tag that is both stays away."""
    return [tag for tag in dict.fromkeys([*tags, *added]) if tag not in removed]


def refuse_approvals(approvals: Mapping[Stage, int]) -> InputRefusal | None:
    """Return why so many approvals cannot be asked for; None when they can."""
    for stage, count in approvals.items():
        if not 0 <= count <= APPROVALS_AT_MOST:
            return InputRefusal(
                "approvals_range",
                f"The approvals for '{stage}' are a number from 0 to {APPROVALS_AT_MOST}, not {count}.",
            )
    return None


def model_key(name: str) -> str:
    """Return the form in which names are compared: two models differ in more than case."""
    return name.casefold()
