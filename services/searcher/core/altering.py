"""Copies of entities with some fields changed: what decisions are made of, several for every report."""

from functools import cache
from itertools import repeat
from operator import attrgetter, call
from typing import Any, TypeVar

T = TypeVar("T")


def replace(entity: T, /, **changes: Any) -> T:
    """Return a copy of a frozen, slotted dataclass with these fields changed, at half the time of `dataclasses.replace`.

    No `__post_init__` is called. Raises KeyError for a field that there is not.
    """
    kind: Any = type(entity)
    setters, read = _fields(kind)
    copy: T = object.__new__(kind)
    # A loop that C runs: each setter gives None.
    any(map(call, setters.values(), repeat(copy), read(entity)))
    for name, value in changes.items():
        setters[name](copy, value)
    return copy


@cache
def _fields(kind: type[Any]) -> tuple[dict[str, Any], Any]:
    names = tuple(kind.__dataclass_fields__)
    return {name: getattr(kind, name).__set__ for name in names}, attrgetter(*names)
