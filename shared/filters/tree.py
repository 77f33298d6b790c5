"""What filters and orders are once they are read. What a column is, each list says itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Value: TypeAlias = bool | float | str | datetime


class Kind(StrEnum):
    """What a column's cells are; `any`: whatever the user gave."""

    NUMBER = "number"
    TEXT = "text"
    TEXTS = "texts"
    """Several, of which one may be looked for."""
    BOOLEAN = "boolean"
    TIME = "time"
    ANY = "any"


class Typed(Protocol):
    """Whatever has cells of one kind."""

    @property
    def kind(self) -> Kind:
        """What its cells are."""


C = TypeVar("C", bound=Typed)


@dataclass(frozen=True, slots=True)
class Comparison(Generic[C]):
    """A cell against a value of its kind. An absent cell, and one of another kind, meets none."""

    column: C
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Contains(Generic[C]):
    """A text that holds another, letter by letter; of several texts one that is this."""

    column: C
    text: str


@dataclass(frozen=True, slots=True)
class Absent(Generic[C]):
    """There is no such value."""

    column: C


@dataclass(frozen=True, slots=True)
class Not(Generic[C]):
    """True where the other is not."""

    of: "Filter[C]"


@dataclass(frozen=True, slots=True)
class All(Generic[C]):
    """True where all are."""

    of: tuple["Filter[C]", ...]


@dataclass(frozen=True, slots=True)
class Any(Generic[C]):
    """True where one is."""

    of: tuple["Filter[C]", ...]


Filter: TypeAlias = Comparison[C] | Contains[C] | Absent[C] | Not[C] | All[C] | Any[C]


@dataclass(frozen=True, slots=True)
class Order(Generic[C]):
    """One column that orders; absent cells come last in either direction."""

    column: C
    is_descending: bool = False


def columns_of(filter_: Filter[C] | None, orders: Sequence[Order[C]] = ()) -> Iterator[C]:
    """Every column that a filter and an order speak of."""
    yield from (order.column for order in orders)
    match filter_:
        case Comparison() | Contains() | Absent():
            yield filter_.column
        case Not(of):
            yield from columns_of(of)
        case All(of) | Any(of):
            for one in of:
                yield from columns_of(one)
