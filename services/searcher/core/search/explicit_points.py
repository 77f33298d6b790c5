"""Complete and validate points that no sampler proposed."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace

from pydantic import JsonValue

from muster.config import (
    Categorical,
    Const,
    Double,
    ExperimentConfig,
    Int,
    Log,
    Parameter,
    Path,
    Point,
    holds,
    parents_first,
    put,
)
from muster.config.conditions import has_value, value_at
from muster.config.point_validation import accepted_values
from services.searcher.core.methods.custom import Operation
from services.searcher.core.samplers.domain import Domain
from shared.errors import Rejected


def complete_point(domain: Domain, point: Point, place: str) -> Point:
    """Return `point` with the space's constants. Unknown names stay as they are.

    Raises:
        Rejected: An active parameter is missing or out of range, an inactive one is given, or a constraint is
            violated. `place` is the path of the point in the request.
    """
    complete = deepcopy(point)
    for path, parameter in parents_first(domain.space):
        where = ".".join((place, *path))
        if not holds(parameter, complete):
            if has_value(complete, path):
                raise Rejected("takes_no_part", "this parameter is inactive: its `when` is not met", where)
        elif has_value(complete, path):
            if not accepted_values(parameter, value_at(complete, path)):
                raise Rejected("out_of_range", f"the value must be {_range(parameter)}", where)
        elif isinstance(parameter, Const):
            _put(complete, path, parameter.val, where)
        else:
            raise Rejected(
                "missing_key", f"this parameter is missing; its value must be {_range(parameter)}", where
            )
    for constraint in domain.constraints:
        if not constraint.is_met(complete):
            raise Rejected(
                "constraint_missed", f"the point violates the constraint '{constraint.text}'", place
            )
    return complete


def _range(parameter: Parameter) -> str:
    match parameter:
        case Const():
            return f"{parameter.val!r}, a constant"
        case Categorical():
            return f"one of {', '.join(repr(value) for value in parameter.vals[:20])}"
        case Log():
            return f"from {parameter.base:g}^{parameter.minval:g} to {parameter.base:g}^{parameter.maxval:g}"
        case Int() | Double():
            kind = "a whole number" if isinstance(parameter, Int) else "a number"
            stepped = f", in steps of {parameter.step:g}" if parameter.step else ""
            return f"{kind} from {parameter.minval:g} to {parameter.maxval:g}{stepped}"


def _put(point: Point, path: Path, value: JsonValue, where: str) -> None:
    try:
        put(point, path, value)
    except AssertionError:
        raise Rejected("invalid_value", "the parent of this parameter must be a mapping", where) from None


def completed(config: ExperimentConfig, operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield operations with complete points. Raises Rejected with the path of a point that is not in the space."""
    domain = Domain.of(config)
    for index, each in enumerate(operations):
        if each.point is None:
            yield each
        else:
            place = f"operations[{index}].hyperparameters"
            yield replace(each, point=complete_point(domain, each.point, place))
