"""Convert the state of a search to JSON data and back, without executing anything on reading.

Objects must be of the searcher's core; they are created without calling any of their code, and shared references stay
shared. Fixed objects (config, sampler), one of each class, are written as their index in the given list.
"""

import importlib
import math
from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from pydantic import JsonValue

from shared.errors import Broken

CORE = "services.searcher.core."
_CONTAINERS: Mapping[str, type] = {kind.__name__: kind for kind in (list, set, deque, dict)}
_VALUES: Mapping[str, type] = {kind.__name__: kind for kind in (tuple, frozenset)}


class NotSerializable(Exception):
    """A state contains an object of an unsupported type."""


def to_json(state: object, fixed: Sequence[object]) -> JsonValue:
    """Return `state` as JSON data. Raises NotPlain for an unsupported type."""
    return _Writer(fixed).write(state)


def from_json(data: JsonValue, fixed: Sequence[object]) -> Any:
    """Return what `to_json` was given; `fixed` holds the same objects in the same order. Raises Broken for other data."""
    try:
        return _Reader(fixed).read(data)
    except (AttributeError, IndexError, ImportError, TypeError, ValueError) as error:
        raise Broken(f"the saved search state cannot be read: {error}") from error


class _Writer:
    """Writes scalars as themselves, and everything else as an array whose first element is its type."""

    def __init__(self, fixed: Sequence[object]) -> None:
        self._fixed = {type(one): place for place, one in enumerate(fixed)}
        self._seen: dict[int, int] = {}
        self._shapes: dict[tuple[type, tuple[str, ...]], int] = {}

    def write(self, value: Any) -> JsonValue:
        kind = value.__class__
        if value is None or kind is int or kind is bool or kind is str:
            return value  # type: ignore[no-any-return]
        if kind is float:
            return value if math.isfinite(value) else ["float", str(value)]
        if (place := self._fixed.get(kind)) is not None:
            return ["fixed", place]
        if kind is Fraction:
            return ["Fraction", str(value)]
        if isinstance(value, Enum):
            return ["enum", *_name_of(kind), value.value]
        if kind.__name__ in _VALUES:
            return [kind.__name__, *map(self.write, value)]
        if (earlier := self._seen.get(id(value))) is not None:
            return ["again", earlier]
        self._seen[id(value)] = len(self._seen)
        if kind is dict:
            return ["dict", *(self.write(part) for item in value.items() for part in item)]
        if kind is set:
            # Sorted, so that equal states are written alike; the searcher's sets contain numbers.
            return ["set", *map(self.write, sorted(value))]
        if kind.__name__ in _CONTAINERS:
            return [kind.__name__, *map(self.write, value)]
        return self._object(kind, value)

    def _object(self, kind: type, value: Any) -> JsonValue:
        names: tuple[str, ...] = tuple(
            getattr(value, "__dict__", ()) or getattr(kind, "__dataclass_fields__", ())
        )
        shape = self._shapes.get((kind, names))
        beginning: list[JsonValue] = ["like", shape]
        if shape is None:
            self._shapes[kind, names] = len(self._shapes)
            beginning = ["object", *_name_of(kind), list(names)]
        return [*beginning, *(self.write(getattr(value, name)) for name in names)]


class _Reader:
    def __init__(self, fixed: Sequence[object]) -> None:
        self._fixed = fixed
        self._seen: list[Any] = []
        self._shapes: list[tuple[type, Sequence[str]]] = []

    def read(self, data: Any) -> Any:
        if data.__class__ is not list:
            return data
        match data:
            case ["like", shape, *parts]:
                return self._object(*self._shapes[shape], parts)
            case ["object", module, name, names, *parts]:
                self._shapes.append((_class_of(module, name), names))
                return self._object(*self._shapes[-1], parts)
            case ["float", text]:
                return float(text)
            case ["Fraction", text]:
                return Fraction(text)
            case ["fixed", place]:
                return self._fixed[place]
            case ["again", earlier]:
                return self._seen[earlier]
            case ["enum", module, name, value]:
                return _class_of(module, name)(value)
            case [("tuple" | "frozenset") as kind, *parts]:
                return _VALUES[kind](map(self.read, parts))
        return self._container(data[0], data[1:])

    def _container(self, kind: str, parts: Sequence[Any]) -> Any:
        made: Any = _CONTAINERS[kind]()
        self._seen.append(made)
        if isinstance(made, dict):
            values = map(self.read, parts)
            made.update(zip(values, values, strict=True))
        elif isinstance(made, set):
            made.update(map(self.read, parts))
        else:
            made.extend(map(self.read, parts))
        return made

    def _object(self, kind: type, names: Sequence[str], parts: Sequence[Any]) -> Any:
        made: Any = object.__new__(kind)
        self._seen.append(made)
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(made, name, self.read(part))
        return made


def _name_of(kind: type) -> tuple[str, str]:
    if not kind.__module__.startswith(CORE):
        raise NotSerializable(f"{kind.__module__}.{kind.__qualname__}")
    return kind.__module__, kind.__qualname__


def _class_of(module: str, name: str) -> Any:
    if not module.startswith(CORE):
        raise Broken(f"the saved search state refers to {module}.{name}")
    return getattr(importlib.import_module(module), name)
