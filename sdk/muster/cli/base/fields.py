"""`--fields` of lists: selects the fields, one column each; with `--json` the other fields are omitted, as in the API."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from muster.errors import Rejected

if TYPE_CHECKING:
    from pydantic import BaseModel, JsonValue

_ABSENT = object()


def names_of(text: str) -> tuple[str, ...]:
    """Split a list of field names such as `number,best.value`."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def values_of(items: "Sequence[BaseModel]", names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return each item's values of the fields as table cells; absent values are None.

    Raises:
        Rejected: No item has such a field.
    """
    columns = [[_value(item, name) for item in items] for name in names]
    for name, found in zip(names, columns, strict=True):
        if found and all(value is _ABSENT for value in found):
            known = ", ".join(type(items[0]).model_fields)
            raise Rejected("unknown_field", f"no item has a field {name}", hint=f"choose from {known}")
    return list(zip(*([_formatted(value) for value in found] for found in columns), strict=True))


def narrowed(item: "dict[str, JsonValue]", names: Sequence[str]) -> "dict[str, JsonValue]":
    """Return the selected fields of an item as the API shows them; `best.value` selects within `best`, which may be null."""
    found: dict[str, JsonValue] = {}
    for name in names:
        _keep(item, name.split("."), found)
    return found


def _keep(item: "dict[str, JsonValue]", steps: Sequence[str], found: "dict[str, JsonValue]") -> None:
    step, *rest = steps
    inner = item.get(step)
    if not rest or not isinstance(inner, dict):
        found[step] = inner
    elif isinstance(kept := found.setdefault(step, {}), dict):
        _keep(inner, rest, kept)


def _formatted(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return None if value is _ABSENT else value


def _value(item: object, name: str) -> object:
    for step in name.split("."):
        if item is None:
            return None
        fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
        item = fields.get(step, _ABSENT)
        if item is _ABSENT:
            return _ABSENT
    return item
