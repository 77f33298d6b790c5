"""Fields by which a list can be filtered and sorted, under their public names. Pure; `sql` is the SQL counterpart."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any as Anything, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel

from muster.errors import Rejected
from shared.filters.parser import Names, read_filter, read_orders
from shared.filters.syntax_tree import All, Any, Comparison, Filter, Kind, Not, Order, Value
from shared.type_annotations import without_none

Position = list[str | int | float | None]
"""The values of an item that a cursor contains."""
_KINDS: dict[Anything, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.TEXT,
    UUID: Kind.TEXT,
    datetime: Kind.TIME,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a listed item, by its dotted name."""

    name: str
    kind: Kind
    is_optional: bool = False
    """Whether the field may be absent."""
    choices: tuple[str, ...] = ()
    """All possible values, if they are known."""
    is_derived: bool = False
    """Whether the value is computed only for displayed items, so that lists cannot be sorted by it."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which part of a list is requested."""

    filter: Filter[Field] | None
    orders: tuple[Order[Field], ...]
    """The last one is by a field that is unique."""
    after: Position | None
    """Values of the order fields of the last item on the previous page."""
    limit: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Fields of one list, and its default order."""

    fields: Mapping[str, Field]
    default_order: tuple[Order[Field], ...]
    """The last field is unique and breaks ties in every order."""

    @classmethod
    def of(
        cls, model: type[BaseModel], *names: str, default_order: str, derived: Sequence[str] = ()
    ) -> "Listing":
        """Return the listing of a model with these fields, dotted for nested ones.

        A field with a dictionary of texts is offered as `name.WORD`. `default_order`: the default order, written as a sort. `derived`: fields that can
        be filtered by but not sorted by.
        """
        fields = {name: _field_of(model, name) for name in names}
        fields |= {name: replace(_field_of(model, name), is_derived=True) for name in derived}
        orders = (
            Order(_field_of(model, one.removeprefix("-")), one[0] == "-") for one in default_order.split(",")
        )
        return cls(fields, tuple(orders))

    @property
    def names(self) -> list[str]:
        """Public names: `labels.WORD` for a dictionary field."""
        return [f"{name}.WORD" if field.kind is Kind.ANY else name for name, field in self.fields.items()]

    def read(self, filter_: str, sort: str) -> tuple[Filter[Field] | None, tuple[Order[Field], ...]]:
        """Parse a filter and a sort.

        Raises:
            Rejected: The text is not valid, or names an unknown field.
        """
        names = Names(self._read, next(iter(self.fields)))
        found = read_filter(filter_, names)
        if found is not None:
            _refuse_unknown_choices(found)
        return found, self._ordered(read_orders(sort, names))

    def _read(self, parts: Sequence[str], place: str) -> Field:
        name = ".".join(parts)
        if (field := self.fields.get(name)) is not None and field.kind is not Kind.ANY:
            return field
        of = self.fields.get(parts[0])
        if of is not None and of.kind is Kind.ANY and len(parts) > 1:
            return Field(name, Kind.TEXT, is_optional=True)
        close = difflib.get_close_matches(name, self.names, n=1, cutoff=0.6)
        guess = f"did you mean '{close[0]}'? " if close else ""
        raise Rejected(
            "unknown_name",
            f"this list cannot be filtered or sorted by '{name}'",
            place,
            f"{guess}available fields: {', '.join(self.names)}",
        )

    def _ordered(self, orders: tuple[Order[Field], ...]) -> tuple[Order[Field], ...]:
        """Cut the orders at the unique key: nothing is left to order after it."""
        key = self.default_order[-1].column
        for index, order in enumerate(orders):
            if order.column.kind is Kind.TEXTS or order.column.is_derived:
                raise Rejected("bad_filter", f"this list cannot be sorted by '{order.column.name}'", "sort")
            if order.column.name == key.name:
                return orders[: index + 1]
        return (*orders, Order(key)) if orders else self.default_order


def position_of(cells: Iterable[Anything]) -> Position:
    """Return the values of an item that go into a cursor."""
    return [_written(value) for value in cells]


def read_position(wanted: ListQuery) -> list[Value | None]:
    """Return the values passed to `position_of`.

    Raises:
        Rejected: The cursor belongs to another order; the list's default order has changed since.
    """
    try:
        pairs = zip(wanted.after or [], wanted.orders, strict=True)
        return [_parsed(value, order.column.kind) for value, order in pairs]
    except ValueError:
        raise Rejected(
            "cursor_invalid",
            "the list's order has changed since the cursor was issued; start again without a cursor",
            "cursor",
        ) from None


def _written(value: Anything) -> str | int | float | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _parsed(value: str | int | float | None, kind: Kind) -> Value | None:
    return datetime.fromisoformat(value) if kind is Kind.TIME and isinstance(value, str) else value


def _refuse_unknown_choices(filter_: Filter[Field]) -> None:
    """Reject a mistyped value instead of returning an empty list."""
    for one in _comparisons(filter_):
        field = one.column
        if field.choices and one.value not in field.choices:
            raise Rejected(
                "bad_filter",
                f"'{field.name}' cannot be {one.value!r}",
                "filter",
                f"use one of {', '.join(field.choices)}",
            )


def _comparisons(filter_: Filter[Field]) -> Iterator[Comparison[Field]]:
    match filter_:
        case Comparison():
            yield filter_
        case Not(of):
            yield from _comparisons(of)
        case All(of) | Any(of):
            for one in of:
                yield from _comparisons(one)


def _field_of(model: type[BaseModel], name: str) -> Field:
    """Raises TypeError if the model has no such field, or its type cannot be compared."""
    is_optional = False
    inner: Anything = model
    for part in name.split("."):
        if not (isinstance(inner, type) and issubclass(inner, BaseModel) and part in inner.model_fields):
            raise TypeError(f"{model.__name__} has no field {name}")
        inner, absent = without_none(inner.model_fields[part].annotation)
        is_optional = is_optional or absent
    if isinstance(inner, type) and issubclass(inner, StrEnum):
        return Field(name, Kind.TEXT, is_optional, tuple(map(str, inner)))
    if get_origin(inner) is Literal:
        return Field(name, Kind.TEXT, is_optional, get_args(inner))
    if inner == list[str]:
        return Field(name, Kind.TEXTS)
    if inner == dict[str, str]:
        return Field(name, Kind.ANY)
    if inner not in _KINDS:
        raise TypeError(f"a list cannot be filtered by {name} of {model.__name__}")
    return Field(name, _KINDS[inner], is_optional)
