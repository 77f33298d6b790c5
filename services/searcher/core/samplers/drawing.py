"""Random values and grid values of parameters.

Every trial has a random stream of its own, seeded with the experiment's seed and the trial's number. So a point does
not depend on earlier events, and no generator state is stored.
"""

from collections.abc import Sequence
from typing import Protocol, assert_never

from pydantic import JsonValue

from muster.config import (
    Categorical,
    Const,
    Double,
    Int,
    Log,
    Parameter,
    Point,
    Space,
    active,
    leaves,
    put,
    stepped,
)

_MASK = 2**64 - 1
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15


class Generator(Protocol):
    """A source of independent numbers, uniform over [0, 1)."""

    def random(self) -> float: ...


class Stream:
    """SplitMix64 (Steele, Lea, Flood 2014), seeded with a seed and a counter; equal on every machine."""

    def __init__(self, seed: int, number: int) -> None:
        self._state = _mix(_mix(seed & _MASK) ^ (number * _GOLDEN_GAMMA & _MASK))

    def random(self) -> float:
        """Return the next number in [0, 1): the upper 53 bits of the next word."""
        return (self._next() >> 11) * 2.0**-53

    def seed(self) -> int:
        """Return the next integer in [0, 2**31)."""
        return self._next() >> 33

    def _next(self) -> int:
        self._state = (self._state + _GOLDEN_GAMMA) & _MASK
        return _mix(self._state)


def draw_point(space: Space, generator: Generator) -> Point:
    """Return a random point. One number is drawn for each varying parameter in the order of `leaves`, active or not."""
    point: Point = {}
    for path, parameter in leaves(space):
        put(point, path, parameter.val if isinstance(parameter, Const) else draw_value(parameter, generator))
    return active(space, point)


def grid_values(parameter: Parameter) -> Sequence[JsonValue]:
    """Return the grid values of `parameter`, in order.

    There are `count` values evenly spaced from minval to maxval (for `log` in the exponent). Integers are rounded
    half away from zero, and there are at most as many as the range has; a count of 1 is the middle.
    """
    match parameter:
        case Const():
            return [parameter.val]
        case Categorical():
            return parameter.vals
        case Int() | Double() if (steps := stepped(parameter)) is not None:
            return [nth_step(parameter, index) for index in range(steps)]
        case Int():
            count = min(parameter.count or 1, parameter.maxval - parameter.minval + 1)
            return [_rounded_step(parameter.minval, parameter.maxval, i, count) for i in range(count)]
        case Double():
            return _spaced(parameter.minval, parameter.maxval, parameter.count or 1)
        case Log():
            return [
                parameter.base**power
                for power in _spaced(parameter.minval, parameter.maxval, parameter.count or 1)
            ]
    assert_never(parameter)


def draw_value(parameter: Categorical | Int | Double | Log, generator: Generator) -> JsonValue:
    """Return a random value. One number is drawn for it."""
    part = generator.random()
    match parameter:
        case Categorical():
            return parameter.vals[int(part * len(parameter.vals))]
        case Int() | Double() if (steps := stepped(parameter)) is not None:
            return nth_step(parameter, min(int(part * steps), steps - 1))
        case Int():
            width = parameter.maxval - parameter.minval + 1
            return parameter.minval + min(int(part * width), width - 1)
        case Double():
            return _between(parameter.minval, parameter.maxval, part)
        case Log():
            return float(parameter.base ** _between(parameter.minval, parameter.maxval, part))
    assert_never(parameter)


def nth_step(parameter: Int | Double, index: int) -> int | float:
    """Return value `index` of a parameter with a step."""
    value = parameter.minval + index * (parameter.step or 0)
    # Steps of 0.1 yield 0.3, not 0.30000000000000004.
    return value if isinstance(parameter, Int) else min(round(value, 12), parameter.maxval)


def _between(low: float, high: float, part: float) -> float:
    return max(low, min(high, low * (1.0 - part) + high * part))


def _spaced(low: float, high: float, count: int) -> list[float]:
    if count == 1:
        return [_between(low, high, 0.5)]
    return [_between(low, high, index / (count - 1)) for index in range(count)]


def _rounded_step(low: int, high: int, index: int, count: int) -> int:
    """Return low + index * (high - low) / (count - 1), rounded half away from zero, in integer arithmetic."""
    if count == 1:
        doubled, unit = low + high, 2
    else:
        doubled, unit = low * (count - 1) + index * (high - low), count - 1
    magnitude = (2 * abs(doubled) + unit) // (2 * unit)
    return magnitude if doubled >= 0 else -magnitude


def _mix(bits: int) -> int:
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _MASK
    return bits ^ (bits >> 31)
