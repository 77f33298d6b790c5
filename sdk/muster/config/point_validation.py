"""Validation of points that do not come from a sampler."""

import json
import textwrap
from collections.abc import Iterator

from pydantic import JsonValue

from muster.config.base_section import refusal
from muster.config.conditions import Path, Point, has_value, holds, parents_first, put, value_at
from muster.config.space import Categorical, Const, Double, Int, Log, Parameter, Space, stepped

_ROUNDING = 1e-9


def check_point(space: Space, given: Point) -> Point:
    """Return `given` as a point of `space`: constants added, numbers normalised as samplers write them, inactive parameters removed.

    Raises a refusal at the path of a missing or invalid value.
    """
    point: Point = {}
    for path, parameter in parents_first(space):
        if holds(parameter, point):
            put(point, path, _value(parameter, given, path))
    return point


def check_names(space: Space, given: Point) -> None:
    """Raise a refusal at a name that is not in the space."""
    known = {path for path, _ in parents_first(space)}
    for path in _paths(given, known):
        if path not in known:
            raise refusal(f"'{'.'.join(path)}' is not a hyperparameter of this space", *path)


def accepted_values(parameter: Parameter, value: JsonValue) -> tuple[JsonValue, ...]:
    """Return the value as samplers would write it, or nothing if the hyperparameter cannot have it."""
    match parameter:
        case Const():
            return (parameter.val,) if _same(value, parameter.val) else ()
        case Categorical():
            return next(((one,) for one in parameter.vals if _same(value, one)), ())
    number = _number(parameter, value)
    return () if number is None else (number,)


def _paths(node: JsonValue, known: set[Path], above: Path = ()) -> Iterator[Path]:
    """The paths of values; a mapping is a value where the space has a leaf."""
    if isinstance(node, dict) and above not in known:
        for name, below in node.items():
            yield from _paths(below, known, (*above, name))
    else:
        yield above


def _value(parameter: Parameter, given: Point, path: Path) -> JsonValue:
    if not has_value(given, path):
        if isinstance(parameter, Const):
            return parameter.val
        raise refusal(f"'{'.'.join(path)}' has no value", *path, hint=f"valid values: {_taken(parameter)}")
    value = value_at(given, path)
    found = accepted_values(parameter, value)
    if not found:
        raise refusal(
            f"{json.dumps(value)} is not a valid value of '{'.'.join(path)}'", *path,
            hint=f"valid values: {_taken(parameter)}",
        )  # fmt: skip
    return found[0]


def _taken(parameter: Parameter) -> str:
    """Describe the values of a hyperparameter."""
    match parameter:
        case Const():
            return json.dumps(parameter.val)
        case Categorical():
            return textwrap.shorten(", ".join(map(json.dumps, parameter.vals)), 200, placeholder=" …")
        case Log(base=base, minval=low, maxval=high):
            return f"numbers from {base**low:g} to {base**high:g}"
    steps = f" in steps of {parameter.step:g}" if parameter.step else ""
    kind = "whole numbers" if isinstance(parameter, Int) else "numbers"
    return f"{kind} from {parameter.minval:g} to {parameter.maxval:g}{steps}"


def _number(parameter: Int | Double | Log, value: JsonValue) -> int | float | None:
    """Return the number normalised to the range and its steps, without rounding errors; None if it is out of range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(parameter, Int):
        is_there = isinstance(value, int) and parameter.minval <= value <= parameter.maxval
        return value if is_there and (value - parameter.minval) % (parameter.step or 1) == 0 else None
    bounds = (parameter.minval, parameter.maxval)
    if isinstance(parameter, Log):
        bounds = (parameter.base**parameter.minval, parameter.base**parameter.maxval)
    low, high = min(bounds), max(bounds)
    tolerance = _ROUNDING * max(abs(low), abs(high))
    if not low - tolerance <= value <= high + tolerance:  # NaN fails this comparison too.
        return None
    if isinstance(parameter, Double) and parameter.step is not None:
        index = round((value - low) / parameter.step)
        nearest = min(round(low + index * parameter.step, 12), high)
        return nearest if abs(nearest - value) <= tolerance and index < (stepped(parameter) or 0) else None
    return float(min(max(value, low), high))


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Compare with types: in Python, True == 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
