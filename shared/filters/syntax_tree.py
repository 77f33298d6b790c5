"""Syntax tree of filters and orders. Each list defines what a column is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Value: TypeAlias = bool | float | str | datetime


class Kind(StrEnum):
    """Type of a column's cells. `any`: any type that the user supplied."""

    NUMBER = "number"
    TEXT = "text"
    TEXTS = "texts"
    """Several texts, of which one can be searched for."""
    BOOLEAN = "boolean"
    TIME = "time"
    ANY = "any"


class Typed(Protocol):
    """A column with cells of one type."""

    @property
    def kind(self) -> Kind:
        """Type of the cells."""


C = TypeVar("C", bound=Typed)


@dataclass(frozen=True, slots=True)
class Comparison(Generic[C]):
    """Compares a cell with a value of its type. Cells that are absent or of another type never match."""

    column: C
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Contains(Generic[C]):
    """A text that contains another, character by character; for several texts, one that equals it."""

    column: C
    text: str


@dataclass(frozen=True, slots=True)
class Absent(Generic[C]):
    """The cell has no value."""

    column: C


@dataclass(frozen=True, slots=True)
class Not(Generic[C]):
    """Matches if the operand does not match."""

    of: "Filter[C]"


@dataclass(frozen=True, slots=True)
class All(Generic[C]):
    """Matches if all operands match."""

    of: tuple["Filter[C]", ...]


@dataclass(frozen=True, slots=True)
class Any(Generic[C]):
    """Matches if one operand matches."""

    of: tuple["Filter[C]", ...]


Filter: TypeAlias = Comparison[C] | Contains[C] | Absent[C] | Not[C] | All[C] | Any[C]


@dataclass(frozen=True, slots=True)
class Order(Generic[C]):
    """One sort column; absent cells come last in both directions."""

    column: C
    is_descending: bool = False


def columns_of(filter_: Filter[C] | None, orders: Sequence[Order[C]] = ()) -> Iterator[C]:
    """Yield every column of a filter and of orders."""
    yield from (order.column for order in orders)
    match filter_:
        case Comparison() | Contains() | Absent():
            yield filter_.column
        case Not(of):
            yield from columns_of(of)
        case All(of) | Any(of):
            for one in of:
                yield from columns_of(one)
