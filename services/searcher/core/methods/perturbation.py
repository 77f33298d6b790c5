"""Perturb the hyperparameters of a copy: some are resampled, others change a little.

Jaderberg et al., "Population Based Training of Neural Networks" (2017), section 3: explore, by resampling and by
perturbing.
"""

from pydantic import JsonValue

from muster.config import (
    Categorical,
    Const,
    Double,
    Int,
    Log,
    Path,
    Pbt,
    Point,
    active,
    leaves,
    put,
    stepped,
)
from muster.config.conditions import has_value, value_at
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Generator, draw_value, nth_step

TRIES = 1000
"""After this many perturbed points that violate the constraints, the point stays unchanged."""


def explore(searcher: Pbt, domain: Domain, point: Point, generator: Generator) -> Point:
    """Return a point near `point` that meets every constraint."""
    for _ in range(TRIES):
        changed = _changed(searcher, domain, point, generator)
        if domain.admits(changed):
            return changed
    return point


def _changed(searcher: Pbt, domain: Domain, point: Point, generator: Generator) -> Point:
    """Draw three numbers for each varying parameter, whether used or not. Parameters that have become active are sampled."""
    changed: Point = {}
    for path, parameter in leaves(domain.space):
        if isinstance(parameter, Const):
            put(changed, path, parameter.val)
            continue
        drawn, coin, side = draw_value(parameter, generator), generator.random(), generator.random()
        if has_value(point, path):
            is_drawn = coin < searcher.resample_probability
            change = searcher.perturb_factor if side < 0.5 else -searcher.perturb_factor
            old = value_at(point, path)
            drawn = old if _is_kept(searcher, path) else drawn if is_drawn else _moved(parameter, old, change)
        put(changed, path, drawn)
    return active(domain.space, changed)


def _is_kept(searcher: Pbt, path: Path) -> bool:
    return ".".join(path) in searcher.keep


def _moved(parameter: Categorical | Int | Double | Log, value: JsonValue, change: float) -> JsonValue:
    """Scale a number by 1 + `change`, at least to its neighbour. For a choice of numbers, take the next one."""
    if isinstance(parameter, Categorical):
        return _neighbour(parameter, value, up=change > 0)
    if not isinstance(value, int | float):
        return value
    match parameter:
        case Log():
            bounds = sorted((parameter.base**parameter.minval, parameter.base**parameter.maxval))
            return float(min(max(value * (1 + change), bounds[0]), bounds[1]))
        case Int() | Double() if (steps := stepped(parameter)) is not None and parameter.step is not None:
            index = round((value - parameter.minval) / parameter.step)
            target = round((value * (1 + change) - parameter.minval) / parameter.step)
            return nth_step(parameter, _apart(index, target, change, 0, steps - 1))
        case Int():
            return _apart(int(value), round(value * (1 + change)), change, parameter.minval, parameter.maxval)
        case Double():
            # Scaling would leave zero at zero.
            by = value * change if value else (parameter.maxval - parameter.minval) * change
            return float(min(max(value + by, parameter.minval), parameter.maxval))


def _apart(old: int, new: int, change: float, least: int, most: int) -> int:
    """Return `new`, or the neighbour of `old` if both are equal, within the bounds."""
    if new == old:
        new = old + (1 if change > 0 else -1)
    return min(max(new, least), most)


def _neighbour(parameter: Categorical, value: JsonValue, *, up: bool) -> JsonValue:
    """Return the next larger or smaller number of the choices. Values of a choice that is not all numbers stay."""
    numbers = [
        each for each in parameter.vals if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    if len(numbers) < len(parameter.vals):
        return value
    ordered = sorted(set(numbers))
    assert isinstance(value, int | float)
    index = ordered.index(value) + (1 if up else -1)
    return ordered[min(max(index, 0), len(ordered) - 1)]
