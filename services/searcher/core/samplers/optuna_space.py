"""Convert parameters and points to Optuna's distributions and back."""

import json
from typing import Any

from optuna import distributions
from optuna.trial import Trial
from pydantic import JsonValue

from muster.config import (
    Categorical,
    Const,
    Double,
    Int,
    Log,
    Parameter,
    Path,
    Point,
    Space,
    holds,
    parents_first,
    put,
    stepped,
)
from muster.config.conditions import has_value, value_at

Varied = Categorical | Int | Double | Log


class OptunaSpace:
    """A space as Optuna sees it. Choices are passed by index, because values may be lists and mappings."""

    def __init__(self, space: Space) -> None:
        self._leaves: list[tuple[str, Path, Parameter]] = [
            (json.dumps(path), path, parameter) for path, parameter in parents_first(space)
        ]

    def ask(self, asked: Trial) -> Point:
        """Return the point of a trial that Optuna was just asked for."""
        point: Point = {}
        for name, path, parameter in self._leaves:
            if holds(parameter, point):
                value = parameter.val if isinstance(parameter, Const) else _ask(asked, name, parameter)
                put(point, path, value)
        return point

    def to_trial_kwargs(self, point: Point) -> dict[str, Any]:
        """Return the arguments of `create_trial` for a point."""
        varied = [
            (name, parameter, value_at(point, path))
            for name, path, parameter in self._leaves
            if not isinstance(parameter, Const) and has_value(point, path)
        ]
        return {
            "params": {name: _as_asked(parameter, value) for name, parameter, value in varied},
            "distributions": {name: _distribution(parameter) for name, parameter, _ in varied},
        }

    def numeric_trial_kwargs(self, point: Point) -> dict[str, Any] | None:
        """Return the same arguments for numeric parameters only; None if one of them is conditional."""
        numbers = [
            (name, path, parameter)
            for name, path, parameter in self._leaves
            if isinstance(parameter, Int | Double | Log)
        ]
        if any(parameter.when for _, _, parameter in numbers):
            return None
        return {
            "params": {name: value_at(point, path) for name, path, _ in numbers},
            "distributions": {name: _distribution(parameter) for name, _, parameter in numbers},
        }


def _ask(asked: Trial, name: str, parameter: Varied) -> JsonValue:
    match _distribution(parameter):
        case distributions.CategoricalDistribution(choices=choices):
            assert isinstance(parameter, Categorical)
            return parameter.vals[int(str(asked.suggest_categorical(name, choices)))]
        case distributions.IntDistribution(low=low, high=high, step=step):
            return asked.suggest_int(name, low, high, step=step)
        case distributions.FloatDistribution(low=low, high=high, step=step, log=log):
            value = asked.suggest_float(name, low, high, step=step, log=log)
            return round(value, 12) if step else value
    raise AssertionError(parameter)


def _distribution(parameter: Varied) -> distributions.BaseDistribution:
    match parameter:
        case Categorical():
            return distributions.CategoricalDistribution(range(len(parameter.vals)))
        case Int():
            step = parameter.step or 1
            last = parameter.minval + (parameter.maxval - parameter.minval) // step * step
            return distributions.IntDistribution(parameter.minval, last, step=step)
        case Double(step=float(step)):
            steps = stepped(parameter) or 1
            high = round(parameter.minval + (steps - 1) * step, 12)
            return distributions.FloatDistribution(parameter.minval, high, step=step)
        case Double():
            return distributions.FloatDistribution(parameter.minval, parameter.maxval)
        case Log():
            bounds = (parameter.base**parameter.minval, parameter.base**parameter.maxval)
            return distributions.FloatDistribution(min(bounds), max(bounds), log=True)


def _as_asked(parameter: Varied, value: JsonValue) -> Any:
    if not isinstance(parameter, Categorical):
        return value
    names = [json.dumps(each, sort_keys=True) for each in parameter.vals]
    return names.index(json.dumps(value, sort_keys=True))
