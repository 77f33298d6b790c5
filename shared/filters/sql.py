"""Filters, orders and pages of lists as SQL: fixed pieces, and whatever a user wrote as a bound parameter. Neighbour: `fields`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any as Anything, assert_never
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Integer,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    bindparam,
    cast,
    false,
    func,
    literal,
    not_,
    or_,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.filters.fields import Field, ListQuery, Position, position_of, read_position
from shared.filters.tree import Absent, All, Any, Comparison, Contains, Filter, Kind, Not, Order, Value

_PREFIX = "ordered_"
_MOST_INTEGER = 2**31 - 1
COMPARE: Mapping[str, Callable[[ColumnElement[Anything], Anything], ColumnElement[bool]]] = {
    "=": lambda cell, value: cell == value,
    "!=": lambda cell, value: cell != value,
    "<": lambda cell, value: cell < value,
    "<=": lambda cell, value: cell <= value,
    ">": lambda cell, value: cell > value,
    ">=": lambda cell, value: cell >= value,
}


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows; `next` is the position behind the last one, None where there are no more."""

    rows: Sequence[Anything]
    next: Position | None


@dataclass(frozen=True, slots=True)
class Cells:
    """The SQL of a list's fields: a table's columns of those names, unless another is given."""

    table: Table
    others: Mapping[str, ColumnElement[Anything]]

    def of(self, field: Field) -> ColumnElement[Anything]:
        """Raises KeyError for a field that has none."""
        return self.named(field.name)

    def named(self, name: str) -> ColumnElement[Anything]:
        """The same, of a field by its name."""
        return self.others[name] if name in self.others else self.table.c[name]


async def load_part(
    connection: AsyncConnection, query: Select[Anything], cells: Cells, wanted: ListQuery
) -> RowPage:
    """Return the rows of a query that are asked for, in order."""
    return cut((await connection.execute(part_of(query, cells, wanted))).all(), wanted)


def part_of(query: Select[Anything], cells: Cells, wanted: ListQuery) -> Select[Anything]:
    """Return the query of those rows, and of one more, by which one sees that there are more."""
    if wanted.filter is not None:
        query = query.where(condition(wanted.filter, cells))
    if wanted.after is not None:
        query = query.where(_is_behind(wanted, cells))
    keys = [cells.of(order.column) for order in wanted.orders]
    query = query.add_columns(*(key.label(f"{_PREFIX}{place}") for place, key in enumerate(keys)))
    query = query.order_by(*(_end(order, key) for order, key in zip(wanted.orders, keys, strict=True)))
    return query.limit(wanted.limit + 1)


def cut(rows: Sequence[Anything], wanted: ListQuery) -> RowPage:
    """Return what `part_of` has found as a page."""
    shown = rows[: wanted.limit]
    if len(rows) == len(shown):
        return RowPage(shown, None)
    return RowPage(shown, position_at(shown[-1], wanted))


def position_at(row: Anything, wanted: ListQuery) -> Position:
    """Return the position behind a row that `load_part` has loaded."""
    return position_of(getattr(row, f"{_PREFIX}{place}") for place in range(len(wanted.orders)))


def condition(filter_: Filter[Field], cells: Cells) -> ColumnElement[bool]:
    """Return the SQL of a filter; it is true or false, never unknown."""
    match filter_:
        case All(of):
            return and_(*(condition(one, cells) for one in of))
        case Any(of):
            return or_(*(condition(one, cells) for one in of))
        case Not(one):
            return not_(condition(one, cells))
        case Absent(field):
            cell = cells.of(field)
            return func.cardinality(cell) == 0 if field.kind is Kind.TEXTS else cell.is_(None)
        case Contains(field, text):
            return _known(field, _holds(field, cells.of(field), text))
        case Comparison(field, operator, value):
            return _known(field, COMPARE[operator](*_sides(cells.of(field), value)))
    assert_never(filter_)


def _known(field: Field, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """An absent cell meets nothing. Where none is absent, an index can serve the plain condition."""
    return func.coalesce(condition, false()) if field.is_optional else condition


def _holds(field: Field, cell: ColumnElement[Anything], text: str) -> ColumnElement[bool]:
    if field.kind is Kind.TEXTS:
        return cell.contains(literal([text], ARRAY(Text)))
    return _as_text(cell).contains(text, autoescape=True)


def _sides(cell: ColumnElement[Anything], value: Value) -> tuple[ColumnElement[Anything], Anything]:
    """What is compared with what: a whole number as one, so that an index can be used; ids as they are written."""
    if isinstance(value, str):
        return _as_text(cell), value
    if isinstance(value, float) and isinstance(cell.type, Integer):
        if value.is_integer() and abs(value) <= _MOST_INTEGER:
            return cell, int(value)
        return cell, literal(value)
    return cell, value


def _as_text(cell: ColumnElement[Anything]) -> ColumnElement[Anything]:
    return cast(cell, Text) if isinstance(cell.type, Uuid) else cell


def _end(order: Order[Field], cell: ColumnElement[Anything]) -> ColumnElement[Anything]:
    """Absent cells come last either way; where there are none nothing is said of them, so that an index can be walked."""
    ordered = cell.desc() if order.is_descending else cell.asc()
    return ordered.nulls_last() if order.column.is_optional else ordered


def _is_behind(wanted: ListQuery, cells: Cells) -> ColumnElement[bool]:
    """Of the row before: equal in what orders first, and behind in what orders next."""
    ways: list[ColumnElement[bool]] = []
    equal: list[ColumnElement[bool]] = []
    for order, at in zip(wanted.orders, read_position(wanted), strict=True):
        cell = cells.of(order.column)
        if at is None:
            equal.append(cell.is_(None))
            continue
        bound = _bound(cell, at)
        behind = cell < bound if order.is_descending else cell > bound
        if order.column.is_optional:
            behind = or_(behind, cell.is_(None))
        ways.append(and_(*equal, behind))
        equal.append(cell == bound)
    return or_(*ways)


def _bound(cell: ColumnElement[Anything], at: str | float | datetime) -> ColumnElement[Anything]:
    value = UUID(at) if isinstance(cell.type, Uuid) and isinstance(at, str) else at
    return bindparam(None, value, type_=cell.type, unique=True)
