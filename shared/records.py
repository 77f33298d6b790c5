"""`changed`: `dataclasses.replace` for records of many fields, in a quarter of its time. A checker of types sees the original.

A grant and an end change such records eight times, and `replace` reads and writes each field by name.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["changed"]

if TYPE_CHECKING:
    from dataclasses import replace as changed
else:

    def changed(record: Any, /, **changes: Any) -> Any:
        """The record with some fields changed. Its class has at least two, and takes all of them in their order."""
        read, places = _shape(type(record))
        values = list(read(record))
        for name, value in changes.items():
            values[places[name]] = value
        return type(record)(*values)


@cache
def _shape(kind: type) -> tuple[Callable[[object], tuple[object, ...]], dict[str, int]]:
    """What reads all fields at once, and where each stands."""
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: place for place, name in enumerate(names)}
