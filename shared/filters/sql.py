"""Filters, orders and pages of lists as SQL: fixed fragments, with user input as bound parameters. `fields` is the counterpart in memory."""

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
from shared.filters.syntax_tree import Absent, All, Any, Comparison, Contains, Filter, Kind, Not, Order, Value

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
    """A page of rows. `next`: position after the last row; None if there are no more."""

    rows: Sequence[Anything]
    next: Position | None


@dataclass(frozen=True, slots=True)
class Cells:
    """SQL of a list's fields: the table's columns of these names unless `others` overrides them."""

    table: Table
    others: Mapping[str, ColumnElement[Anything]]

    def of(self, field: Field) -> ColumnElement[Anything]:
        """Return the SQL of a field. Raises KeyError for an unknown field."""
        return self.named(field.name)

    def named(self, name: str) -> ColumnElement[Anything]:
        """Return the SQL of a field by its name."""
        return self.others[name] if name in self.others else self.table.c[name]


async def load_part(
    connection: AsyncConnection, query: Select[Anything], cells: Cells, wanted: ListQuery
) -> RowPage:
    """Return the requested rows of a query, in order."""
    return cut((await connection.execute(part_of(query, cells, wanted))).all(), wanted)


def part_of(query: Select[Anything], cells: Cells, wanted: ListQuery) -> Select[Anything]:
    """Return the query of these rows and one more, which shows whether more follow."""
    if wanted.filter is not None:
        query = query.where(condition(wanted.filter, cells))
    if wanted.after is not None:
        query = query.where(_is_behind(wanted, cells))
    keys = [cells.of(order.column) for order in wanted.orders]
    query = query.add_columns(*(key.label(f"{_PREFIX}{place}") for place, key in enumerate(keys)))
    query = query.order_by(*(_end(order, key) for order, key in zip(wanted.orders, keys, strict=True)))
    return query.limit(wanted.limit + 1)


def cut(rows: Sequence[Anything], wanted: ListQuery) -> RowPage:
    """Return the result of `part_of` as a page."""
    page = rows[: wanted.limit]
    if len(rows) == len(page):
        return RowPage(page, None)
    return RowPage(page, position_at(page[-1], wanted))


def position_at(row: Anything, wanted: ListQuery) -> Position:
    """Return the position after a row loaded by `load_part`."""
    return position_of(getattr(row, f"{_PREFIX}{place}") for place in range(len(wanted.orders)))


def condition(filter_: Filter[Field], cells: Cells) -> ColumnElement[bool]:
    """Return the SQL of a filter; it is true or false, never NULL."""
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
    """An absent cell matches nothing. If the field is never absent, the plain condition can use an index."""
    return func.coalesce(condition, false()) if field.is_optional else condition


def _holds(field: Field, cell: ColumnElement[Anything], text: str) -> ColumnElement[bool]:
    if field.kind is Kind.TEXTS:
        return cell.contains(literal([text], ARRAY(Text)))
    return _as_text(cell).contains(text, autoescape=True)


def _sides(cell: ColumnElement[Anything], value: Value) -> tuple[ColumnElement[Anything], Anything]:
    """Operands of a comparison: a whole number as an integer, so that an index can be used; ids as text."""
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
    """Absent cells come last in both directions. NULLS LAST is left out for fields that are never absent, so that an index can be used."""
    ordered = cell.desc() if order.is_descending else cell.asc()
    return ordered.nulls_last() if order.column.is_optional else ordered


def _is_behind(wanted: ListQuery, cells: Cells) -> ColumnElement[bool]:
    """Condition for rows after the previous page's last row: equal in the first orders, and greater in the next one."""
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
