"""Conditional hyperparameters: `when` names other hyperparameters and the values for which this one is active."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pydantic import JsonValue

from muster.config.base_section import did_you_mean, refusal
from muster.config.space import Categorical, Const, Int, Parameter, Space, leaves

Path: TypeAlias = tuple[str, ...]
Point: TypeAlias = dict[str, JsonValue]


def check_conditions(space: Space) -> None:
    """Raise a refusal if a `when` names an unknown hyperparameter, a value that it cannot take, or is circular."""
    known = dict(leaves(space))
    for path, parameter in known.items():
        for name, wanted in (parameter.when or {}).items():
            _check_condition(known, path, name, wanted)
    for path in known:
        _check_circle(known, path, (path,))


def active(space: Space, point: Point) -> Point:
    """Return `point` without inactive hyperparameters; an inactive parent has no value."""
    known = dict(leaves(space))
    if not any(parameter.when for parameter in known.values()):
        return point
    states: dict[Path, bool] = {}
    kept: Point = {}
    for path in known:
        if _is_active(known, point, path, states):
            put(kept, path, value_at(point, path))
    return kept


def parents_first(space: Space) -> list[tuple[Path, Parameter]]:
    """Return the leaves in order, each after the hyperparameters that its `when` names."""
    known = dict(leaves(space))
    ordered: dict[Path, Parameter] = {}

    def add(path: Path) -> None:
        if path not in ordered:
            for name in known[path].when or {}:
                add(_path(name))
            ordered[path] = known[path]

    for path in known:
        add(path)
    return list(ordered.items())


def holds(parameter: Parameter, point: Point) -> bool:
    """Return whether the conditions of a hyperparameter hold, given the active hyperparameters in `point`."""
    return all(
        has_value(point, _path(name)) and value_at(point, _path(name)) in _alternatives(wanted)
        for name, wanted in (parameter.when or {}).items()
    )


def value_at(point: Point, path: Path) -> JsonValue:
    """Return the value at a path; raises KeyError if there is none."""
    node: JsonValue = point
    for name in path:
        if not isinstance(node, dict):
            raise KeyError(name)
        node = node[name]
    return node


def has_value(point: Point, path: Path) -> bool:
    """Return whether the point has a value at a path."""
    try:
        value_at(point, path)
    except KeyError:
        return False
    return True


def put(point: Point, path: Path, value: JsonValue) -> None:
    """Set the value at a path and create the mappings on the way."""
    node = point
    for name in path[:-1]:
        below = node.setdefault(name, {})
        assert isinstance(below, dict)
        node = below
    node[path[-1]] = value


def _is_active(known: Mapping[Path, Parameter], point: Point, path: Path, states: dict[Path, bool]) -> bool:
    if path not in states:
        parameter = known[path]
        states[path] = all(
            _is_active(known, point, _path(name), states)
            and value_at(point, _path(name)) in _alternatives(wanted)
            for name, wanted in (parameter.when or {}).items()
        )
    return states[path]


def _check_condition(known: Mapping[Path, Parameter], path: Path, name: str, wanted: JsonValue) -> None:
    at = ("hyperparameters", *path, "when", name)
    parent = known.get(_path(name))
    if parent is None:
        names = [".".join(each) for each in known if each != path]
        hint = did_you_mean(name, names) or "write its full path: outer.inner"
        raise refusal(f"'when' refers to '{name}', which is not a hyperparameter", *at, hint=hint)
    for value in _alternatives(wanted):
        if not _may_be(parent, value):
            hint = "write one of its values, or a number within its range"
            raise refusal(
                f"'{name}' never has the value {value!r}, so this hyperparameter would never be active",
                *at,
                hint=hint,
            )


def _check_circle(known: Mapping[Path, Parameter], path: Path, way: tuple[Path, ...]) -> None:
    for name in known[path].when or {}:
        if _path(name) in way:
            circle = " → ".join(".".join(each) for each in (*way, _path(name)))
            raise refusal(f"the conditions are circular: {circle}", "hyperparameters", *way[0], "when")
        _check_circle(known, _path(name), (*way, _path(name)))


def _may_be(parameter: Parameter, value: JsonValue) -> bool:
    match parameter:
        case Const():
            return value == parameter.val
        case Categorical():
            return value in parameter.vals
        case Int():
            return isinstance(value, int) and parameter.minval <= value <= parameter.maxval
        case _:
            return isinstance(value, int | float)


def _alternatives(wanted: JsonValue) -> Sequence[JsonValue]:
    return wanted if isinstance(wanted, list) else [wanted]


def _path(name: str) -> Path:
    return tuple(name.split("."))
