"""Compare two versions of a model. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

Facts = Mapping[str, Mapping[str, JsonValue]]
"""Properties of a version by kind, such as `metric`, and name."""


@dataclass(frozen=True, slots=True)
class FactDifference:
    """A property that differs; None if a version does not have it."""

    what: str
    name: str
    base: JsonValue
    other: JsonValue


def differences(base: Facts, other: Facts) -> list[FactDifference]:
    """Return the differences by kind, in the order of `base`, then by name. Both must have the same kinds."""
    return [
        FactDifference(what, name, here.get(name), other[what].get(name))
        for what, here in base.items()
        for name in sorted({*here, *other[what]})
        if here.get(name) != other[what].get(name)
    ]


def flatten(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Flatten nested hyperparameters to dotted paths, such as `optimizer.lr`."""
    return dict(_leaves(values, ""))


def _leaves(values: Mapping[str, JsonValue], place: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value
