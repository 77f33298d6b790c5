"""A strict reader of YAML (and so of JSON) that records the position of each value.

It refuses anchors, aliases, tags, multiple documents, repeated keys, non-finite numbers, and documents that are too
large or too deep, so that input cannot expand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import yaml
from pydantic import JsonValue

from muster.config.yaml_scalars import check_scalar, resolve_scalar
from muster.errors import Rejected

MAX_BYTES = 256 * 1024
MAX_NODES = 20_000
MAX_DEPTH = 32

Path = tuple[str | int, ...]

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Document:
    """A mapping of plain values and the position of each path in its source."""

    root: dict[str, JsonValue]
    positions: dict[Path, str] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """Return the position of a path, such as `hyperparameters.lr.minval, line 3, column 7`, as far as it is known."""
        name = dotted(path)
        for end in range(len(path), -1, -1):
            if (where := self.positions.get(path[:end])) is not None:
                return f"{name}, {where}" if name else where
        return name or "the config"


def dotted(path: Path) -> str:
    """Return `a.b[0]` for ("a", "b", 0)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_text(text: str | bytes) -> Document:
    """Read one YAML or JSON document whose root is a mapping.

    Raises:
        Rejected: Code `invalid_yaml`, `too_large`, or a code of `check_scalar`, with the position.
    """
    if isinstance(text, bytes):
        text = _decoded(text)
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Rejected(
            "too_large",
            f"the config is larger than {MAX_BYTES // 1024} KiB",
            "the config",
        )
    reader = _Reader(_events(text))
    root = reader.read()
    if root is None:
        root = {}
    if not isinstance(root, dict):
        raise Rejected(
            "invalid_type",
            "the config must be a mapping of keys to values",
            "line 1, column 1",
        )
    return Document(root, reader.positions)


def read_value(text: str, place: str) -> JsonValue:
    """Read the value of an override, e.g. `0.1`, `[1, 2]`, `{type: int, minval: 1, maxval: 3}`."""
    try:
        return _Reader(_events(text)).read()
    except Rejected as error:
        raise Rejected(error.code, error.message, place, error.hint) from None


def read_mapping(mapping: Mapping[str, object]) -> Document:
    """Copy a mapping of plain values, under the same limits as text.

    Raises:
        Rejected: A value has no JSON equivalent, or the document is too large or too deep.
    """
    budget = _Budget()
    root = _copied(mapping, (), budget)
    assert isinstance(root, dict)
    return Document(root)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Rejected(
            "invalid_yaml",
            f"the config is not UTF-8 (byte {error.start})",
            "the config",
        ) from None


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_PARSER)
    except yaml.MarkedYAMLError as error:
        what = " ".join(part for part in (error.problem, error.context) if part)
        raise Rejected("invalid_yaml", f"this is not YAML: {what}", _where(error.problem_mark)) from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise Rejected("invalid_yaml", f"this is not YAML: {what}", "the config") from None


class _Mark(Protocol):
    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


def _where(mark: _Mark | None) -> str:
    return "the config" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


@dataclass(slots=True)
class _Budget:
    """Counts nodes and depth to bound the size of a document."""

    nodes: int = 0

    def spend(self, depth: int, place: str) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise Rejected("too_large", f"the config has more than {MAX_NODES} values", place)
        if depth > MAX_DEPTH:
            raise Rejected(
                "too_large",
                f"the config is nested deeper than {MAX_DEPTH} levels",
                place,
            )


class _Reader:
    """Builds values from YAML events; MAX_DEPTH bounds the recursion."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self.positions: dict[Path, str] = {}
        self._events = events
        self._budget = _Budget()

    def read(self) -> JsonValue:
        root: JsonValue = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise Rejected(
                        "invalid_yaml",
                        "a config must be a single YAML document",
                        _where(event.start_mark),
                    )
                root = self._value(next(self._events), ())
        return root

    def _value(self, event: yaml.Event, path: Path) -> JsonValue:
        where = _where(event.start_mark)
        self._refuse_indirection(event, where)
        self._budget.spend(len(path), where)
        self.positions.setdefault(path, where)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        assert isinstance(event, yaml.ScalarEvent)
        value = resolve_scalar(str(event.value), bool(event.style), where)
        check_scalar(value, where)
        return value

    def _mapping(self, path: Path) -> JsonValue:
        values: dict[str, JsonValue] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            where = _where(event.start_mark)
            self._refuse_indirection(event, where)
            key = (
                resolve_scalar(str(event.value), bool(event.style), where)
                if isinstance(event, yaml.ScalarEvent)
                else None
            )
            if not isinstance(key, str) or not key:
                raise Rejected("invalid_key", "keys must be text", where, "put the key in quotes")
            check_scalar(key, where)
            if key in values:
                raise Rejected("repeated_key", f"the key '{key}' is repeated", where)
            self.positions[(*path, key)] = where
            values[key] = self._value(next(self._events), (*path, key))
        return values

    def _sequence(self, path: Path) -> JsonValue:
        values: list[JsonValue] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, (*path, len(values))))
        return values

    def _refuse_indirection(self, event: yaml.Event, where: str) -> None:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Rejected(
                "invalid_yaml",
                "anchors and aliases are not allowed; repeat the value",
                where,
            )
        if (tag := getattr(event, "tag", None)) and not _is_implied(event, str(tag)):
            raise Rejected("invalid_yaml", f"the tag {tag} is not allowed", where, "remove the tag")


def _is_implied(event: yaml.Event, tag: str) -> bool:
    implicit = getattr(event, "implicit", True)
    return tag == "!" or implicit is True or (isinstance(implicit, tuple) and any(implicit))


def _copied(value: object, path: Path, budget: _Budget) -> JsonValue:
    place = dotted(path) or "the config"
    budget.spend(len(path), place)
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) or not key for key in value):
            raise Rejected("invalid_key", "keys must be text", place)
        return {_checked_key(key, place): _copied(item, (*path, key), budget) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item, (*path, index), budget) for index, item in enumerate(value)]
    if value is None or isinstance(value, str | int | float | bool):
        check_scalar(value, place)
        return value
    raise Rejected(
        "invalid_type", f"a {type(value).__name__} is not a number, string, list or mapping", place
    )


def _checked_key(key: str, place: str) -> str:
    check_scalar(key, place)
    return key
