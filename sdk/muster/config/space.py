"""The search space: `hyperparameters` of the config, with Determined's types and names."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType

from muster.config.base_section import Section, refusal, rule

MAX_COUNT = 100_000
MAX_VALUES = 10_000


class _Leaf(Section):
    """Keys of every hyperparameter.

    Attributes:
        when: Condition: paths of other hyperparameters (`outer.inner`) and the value, or list of values, for which this one is
            active. An inactive hyperparameter is missing from the trial.
    """

    when: dict[str, JsonValue] | None = Field(default=None, min_length=1)


class Const(_Leaf):
    """The same value for every trial; may be written as a bare scalar or list."""

    type: Literal["const"] = "const"
    val: JsonValue


class Categorical(_Leaf):
    """One of `vals`, with equal probability."""

    type: Literal["categorical"]
    vals: tuple[JsonValue, ...] = Field(min_length=1, max_length=MAX_VALUES, strict=False)


class Int(_Leaf):
    """An integer, bounds included.

    Attributes:
        step: Distance between values, counted from `minval`.
    """

    type: Literal["int"]
    minval: int
    maxval: int
    count: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    step: int | None = Field(default=None, ge=1)

    @rule
    def _is_a_range(self) -> None:
        _check_step(self)
        _check_range(self)


class Double(_Leaf):
    """A real number, uniformly distributed.

    Attributes:
        step: Distance between values, counted from `minval`.
    """

    type: Literal["double"]
    minval: float
    maxval: float
    count: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    step: float | None = Field(default=None, gt=0)

    @rule
    def _is_a_range(self) -> None:
        _check_step(self)
        _check_range(self)


class Log(_Leaf):
    """`base` to the power of a uniformly distributed exponent between `minval` and `maxval`."""

    type: Literal["log"]
    base: float = Field(gt=0)
    minval: float
    maxval: float
    count: int | None = Field(default=None, ge=1, le=MAX_COUNT)

    @rule
    def _is_a_range(self) -> None:
        if self.base == 1:
            raise refusal(
                "the base must not be 1: every power of it is 1",
                "base",
                hint="use base: 10",
            )
        for bound in ("minval", "maxval"):
            if not _is_power(self.base, getattr(self, bound)):
                raise refusal(
                    f"{self.base:g} to the power of {getattr(self, bound):g} is not a finite number",
                    bound,
                    hint="minval and maxval of a log parameter are exponents, e.g. -4 for 0.0001",
                )
        _check_range(self)


Parameter: TypeAlias = Const | Categorical | Int | Double | Log
"""A leaf of the space."""


def _kind(value: object) -> str:
    if isinstance(value, Section):
        return f"<{value.model_dump()['type']}>"
    if isinstance(value, Mapping) and "type" in value:
        return f"<{value['type']}>" if isinstance(value["type"], str) else "<bad>"
    return "<nested>"


def _bare_to_const(value: object) -> object:
    if isinstance(value, Section | Mapping):
        return value
    return {"type": "const", "val": value}


if TYPE_CHECKING:  # mypy supports only plain recursive aliases, pydantic only named ones
    Hyperparameter: TypeAlias = Const | Categorical | Int | Double | Log | Mapping[str, "Hyperparameter"]
else:
    Hyperparameter = TypeAliasType(
        "Hyperparameter",
        Annotated[
            Annotated[Const, Tag("<const>")]
            | Annotated[Categorical, Tag("<categorical>")]
            | Annotated[Int, Tag("<int>")]
            | Annotated[Double, Tag("<double>")]
            | Annotated[Log, Tag("<log>")]
            | Annotated[dict[str, "Hyperparameter"], Tag("<nested>")],
            Discriminator(
                _kind,
                custom_error_type="invalid_value",
                custom_error_message="the type must be one of const, categorical, int, double, log",
            ),
            BeforeValidator(_bare_to_const),
        ],
    )

Space: TypeAlias = Mapping[str, Hyperparameter]
Leaf: TypeAlias = tuple[tuple[str, ...], Parameter]


def leaves(space: Space, above: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield the hyperparameters with their paths, depth first, names sorted at each level.

    Sampling and grids use this order; it depends only on names.
    """
    for name in sorted(space):
        parameter = space[name]
        if isinstance(parameter, Mapping):
            yield from leaves(parameter, (*above, name))
        else:
            yield (*above, name), parameter


def searched(space: Space) -> list[Leaf]:
    """Return the hyperparameters that are not constant, in the order of `leaves`."""
    return [(path, parameter) for path, parameter in leaves(space) if not isinstance(parameter, Const)]


def stepped(parameter: Int | Double) -> int | None:
    """Return the number of values of a hyperparameter with a `step`; None without one."""
    if parameter.step is None:
        return None
    # The tolerance includes a last value that only rounding excludes.
    return int((parameter.maxval - parameter.minval) / parameter.step + 1e-9) + 1


def grid_size(parameter: Parameter) -> int | None:
    """Return the number of values of a hyperparameter in a grid, or None if `count` is missing."""
    if isinstance(parameter, Int | Double) and parameter.step is not None:
        return stepped(parameter)
    if isinstance(parameter, Const):
        return 1
    if isinstance(parameter, Categorical):
        return len(parameter.vals)
    if parameter.count is None:
        return None
    if isinstance(parameter, Int):
        return min(parameter.count, parameter.maxval - parameter.minval + 1)
    return parameter.count


def _check_range(parameter: Int | Double | Log) -> None:
    if parameter.minval >= parameter.maxval:
        raise refusal(
            f"minval ({parameter.minval:g}) must be below maxval ({parameter.maxval:g})",
            "minval",
            hint="for a single value, write the bare value",
        )


def _check_step(parameter: Int | Double) -> None:
    if parameter.step is None:
        return
    if parameter.count is not None:
        raise refusal("'count' and 'step' cannot be combined", "count", hint="remove one of them")
    if parameter.minval < parameter.maxval < parameter.minval + parameter.step:
        raise refusal(
            f"minval + step ({parameter.minval + parameter.step:g}) exceeds maxval ({parameter.maxval:g}), "
            "so only one value is left",
            "step",
            hint="lower the step, or raise maxval",
        )


def _is_power(base: float, exponent: float) -> bool:
    try:
        return 0.0 < float(base**exponent) < float("inf")
    except OverflowError:
        return False
