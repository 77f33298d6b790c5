"""Field masks: return only the fields that the caller names. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel

from muster.errors import Rejected
from shared.type_annotations import without_none

MOST_CHARACTERS = 2_000
FIELDS = "fields"
"""The parameter over REST, and the metadata over gRPC."""
ITEMS = "items"
"""The field of a page that the mask applies to. The page's other fields are always returned."""
EACH = "__all__"

T = TypeVar("T")
Include = dict[str, Any]
"""Maps field names to True (the whole field) or to a nested `Include`; for lists, the key `EACH` holds the mask of the items."""


def read_mask(text: str, model: type[BaseModel]) -> Include:
    """Parse a mask such as `id,name,best.value` for a model, or for the items of a page.

    Raises:
        Rejected: a name is empty or unknown, or the mask is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise Rejected(
            "too_many_values", f"the field mask is longer than {MOST_CHARACTERS} characters", FIELDS
        )
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise Rejected("unknown_name", "a field name is empty", FIELDS, "use the form id,name,best.value")
    page = ITEMS in model.model_fields
    masked = _model_in(model.model_fields[ITEMS].annotation) if page else model
    found: Include = {}
    for name in names:
        _lay(found, name.split("."), masked or model, name)
    if not page:
        return found
    return {field: True for field in model.model_fields if field != ITEMS} | {ITEMS: {EACH: found}}


def keep(value: T, include: Include) -> T:
    """Apply a mask to JSON, or to a model, whose other fields become None."""
    return cast(T, _kept(value, include))


def _kept(value: Any, include: Any) -> Any:
    if include is True:
        return value
    if isinstance(value, list):
        return [_kept(item, include.get(EACH, include)) for item in value]
    if isinstance(value, Mapping):
        return {key: _kept(item, include[key]) for key, item in value.items() if key in include}
    if isinstance(value, BaseModel):
        kept = {name: _kept(getattr(value, name), below) for name, below in include.items()}
        return type(value).model_construct(**(dict.fromkeys(type(value).model_fields) | kept))
    return value


def _lay(found: Include, parts: list[str], model: type[BaseModel], name: str) -> None:
    """Add a dotted name to the mask. A whole field stays whole."""
    first, *rest = parts
    if first not in model.model_fields:
        known = ", ".join(model.model_fields)
        raise Rejected("unknown_name", f"unknown field '{name}'", FIELDS, f"fields: {known}")
    if not rest or found.get(first) is True:
        found[first] = True
        return
    annotation, _ = without_none(model.model_fields[first].annotation)
    inner = _model_in(annotation)
    is_list = get_origin(annotation) is list
    if inner is None and get_origin(annotation) is not dict:
        raise Rejected("unknown_name", f"'{first}' has no nested fields", FIELDS, f"use {first}")
    below = cast(Include, found.setdefault(first, {EACH: {}} if is_list else {}))
    if inner is not None:
        _lay(below[EACH] if is_list else below, rest, inner, name)
    else:
        _lay_free(below, rest)


def _lay_free(found: Include, parts: list[str]) -> None:
    """Add a name below a JSON object of users, where every name may exist."""
    first, *rest = parts
    if not rest or found.get(first) is True:
        found[first] = True
    else:
        _lay_free(found.setdefault(first, {}), rest)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation names, directly or as a list's items."""
    plain, _ = without_none(annotation)
    if get_origin(plain) is list:
        plain, _ = without_none(get_args(plain)[0])
    return plain if isinstance(plain, type) and issubclass(plain, BaseModel) else None
