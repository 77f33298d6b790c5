"""Points that did not come from a sampler: whether they are points of a space."""

import json
import textwrap
from collections.abc import Iterator

from pydantic import JsonValue

from muster.config.conditions import Path, Point, has_value, holds, parents_first, put, value_at
from muster.config.section import refusal
from muster.config.space import Categorical, Const, Double, Int, Log, Parameter, Space, stepped

_ROUNDING = 1e-9


def check_point(space: Space, given: Point) -> Point:
    """Return the point of `space` that `given` is: its constants filled in, numbers as samplers would write them, what takes no part
    left out. Raises a refusal at the place of what is missing or not allowed."""
    point: Point = {}
    for path, parameter in parents_first(space):
        if holds(parameter, point):
            put(point, path, _value(parameter, given, path))
    return point


def check_names(space: Space, given: Point) -> None:
    """Raise a refusal at a name that the space does not have."""
    known = {path for path, _ in parents_first(space)}
    for path in _paths(given, known):
        if path not in known:
            raise refusal(f"'{'.'.join(path)}' is no hyperparameter of this space", *path)


def accepted_values(parameter: Parameter, value: JsonValue) -> tuple[JsonValue, ...]:
    """Return the value as samplers would write it, or nothing where the parameter never has it."""
    match parameter:
        case Const():
            return (parameter.val,) if _same(value, parameter.val) else ()
        case Categorical():
            return next(((one,) for one in parameter.vals if _same(value, one)), ())
    number = _number(parameter, value)
    return () if number is None else (number,)


def _paths(node: JsonValue, known: set[Path], above: Path = ()) -> Iterator[Path]:
    """The places of values; a mapping is one where the space takes it for a value."""
    if isinstance(node, dict) and above not in known:
        for name, below in node.items():
            yield from _paths(below, known, (*above, name))
    else:
        yield above


def _value(parameter: Parameter, given: Point, path: Path) -> JsonValue:
    if not has_value(given, path):
        if isinstance(parameter, Const):
            return parameter.val
        raise refusal(f"'{'.'.join(path)}' has no value", *path, hint=f"it takes {_taken(parameter)}")
    value = value_at(given, path)
    found = accepted_values(parameter, value)
    if not found:
        raise refusal(
            f"{json.dumps(value)} is no value of '{'.'.join(path)}'", *path,
            hint=f"it takes {_taken(parameter)}",
        )  # fmt: skip
    return found[0]


def _taken(parameter: Parameter) -> str:
    """Say which values a parameter has."""
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
    """The number in the range, on its steps and without what rounding did to it; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(parameter, Int):
        is_there = isinstance(value, int) and parameter.minval <= value <= parameter.maxval
        return value if is_there and (value - parameter.minval) % (parameter.step or 1) == 0 else None
    ends = (parameter.minval, parameter.maxval)
    if isinstance(parameter, Log):
        ends = (parameter.base**parameter.minval, parameter.base**parameter.maxval)
    low, high = min(ends), max(ends)
    room = _ROUNDING * max(abs(low), abs(high))
    if not low - room <= value <= high + room:  # Nor is NaN.
        return None
    if isinstance(parameter, Double) and parameter.step is not None:
        index = round((value - low) / parameter.step)
        nearest = min(round(low + index * parameter.step, 12), high)
        return nearest if abs(nearest - value) <= room and index < (stepped(parameter) or 0) else None
    return float(min(max(value, low), high))


def _same(one: JsonValue, other: JsonValue) -> bool:
    """To Python true is 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
