"""Filter and sort items in memory. `sql` does the same in the database."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any as Anything, TypeAlias, TypeVar
from uuid import UUID

from pydantic import BaseModel

from shared.filters.fields import Field, ListQuery, read_position
from shared.filters.syntax_tree import Absent, All, Any, Comparison, Contains, Filter, Not, Order, Value

T = TypeVar("T")
Cells: TypeAlias = Callable[[Field], Anything]
"""Returns the value of a field of one item; None if it has none."""


def select(items: Iterable[T], wanted: ListQuery, cell: Callable[[T, Field], Anything]) -> list[T]:
    """Return the items after the position that match the filter, in order, and one more than the limit if there are more."""
    met = [item for item in items if wanted.filter is None or meets(wanted.filter, partial(cell, item))]
    # Last order first: sorts are stable.
    for order in reversed(wanted.orders):
        met = _ordered(met, order, cell)
    if wanted.after is not None:
        after = read_position(wanted)
        met = [item for item in met if _is_behind(item, wanted.orders, after, cell)]
    return met[: wanted.limit + 1]


def meets(filter_: Filter[Field], cell: Cells) -> bool:
    """Return whether an item with these cells matches a filter."""
    match filter_:
        case All(of):
            return all(meets(one, cell) for one in of)
        case Any(of):
            return any(meets(one, cell) for one in of)
        case Not(one):
            return not meets(one, cell)
        case Absent(column):
            return not _is_there(cell(column))
        case Contains(column, text):
            held = cell(column)
            return not isinstance(held, bool | float | datetime | None) and text in held
        case Comparison(column, operator, value):
            held = cell(column)
            return held is not None and _compared(held, operator, value)


def cell_of(item: BaseModel, field: Field) -> Anything:
    """Return the value of a model's field; None if it has none."""
    value: Anything = item
    for part in field.name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
        if value is None:
            return None
    return str(value) if isinstance(value, UUID) else value


def _ordered(items: Sequence[T], order: Order[Field], cell: Callable[[T, Field], Anything]) -> list[T]:
    """Sort items. Items with equal cells keep their order; items without a cell come last."""
    of = order.column
    present = [item for item in items if cell(item, of) is not None]
    absent = [item for item in items if cell(item, of) is None]
    return sorted(present, key=lambda item: cell(item, of), reverse=order.is_descending) + absent


def _is_there(held: Anything) -> bool:
    return held is not None and held != [] and held != ()


def _compared(held: Anything, operator: str, value: Value) -> bool:
    match operator:
        case "=":
            return bool(held == value)
        case "!=":
            return bool(held != value)
        case "<":
            return bool(held < value)
        case "<=":
            return bool(held <= value)
        case ">":
            return bool(held > value)
        case _:
            return bool(held >= value)


def _is_behind(
    item: T,
    orders: Sequence[Order[Field]],
    after: Sequence[Value | None],
    cell: Callable[[T, Field], Anything],
) -> bool:
    for order, at in zip(orders, after, strict=True):
        held = cell(item, order.column)
        if held == at:
            continue
        if held is None or at is None:
            return held is None
        return bool(held < at) if order.is_descending else bool(held > at)
    return False
