"""`changed`: a faster `_replace` for named tuples with many fields.

Cores change records of thirty fields several times per event. `_replace` looks up every field; this needs a third of its time.
"""

from functools import cache
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


def changed(record: T, /, **changes: Any) -> T:
    """Return the named tuple with some fields changed. Raises KeyError for an unknown field."""
    values, indices = list(record), _indices(type(record))
    for name, value in changes.items():
        values[indices[name]] = value
    return tuple.__new__(type(record), values)


@cache
def _indices(kind: type[NamedTuple]) -> dict[str, int]:
    return {name: index for index, name in enumerate(kind._fields)}
