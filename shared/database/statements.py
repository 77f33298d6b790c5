"""Parts of statements that keep the same text, and one round trip, for any number of values or rows.

Postgres takes 32,767 parameters at most; many values are one array, many rows an array for each column or one JSON document.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Select,
    TableValuedAlias,
    Text,
    any_,
    bindparam,
    cast,
    column,
    func,
    literal,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.sql.expression import ColumnClause

ctid: ColumnElement[Any] = column("ctid")
"""Where a row lies: finds again, without an index, rows that the same statement has selected."""


def among(column: ColumnElement[Any], values: Iterable[object]) -> ColumnElement[bool]:
    """The column is one of these values."""
    return column == any_(literal(list(values), ARRAY(column.type)))


def rows_given(
    columns: Sequence[ColumnClause[Any]], rows: Iterable[Sequence[object]], numbered: str | None = None
) -> TableValuedAlias:
    """Rows as a table `given` with these columns' names and types; `numbered`: one more column that counts them from 1."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = (literal(list(each), ARRAY(one.type)) for one, each in zip(columns, values, strict=True))
    named = [column(one.name, one.type) for one in columns]
    table = func.unnest(*arrays).table_valued(*named, with_ordinality=numbered)
    return table.render_derived(name="given")


def records(columns: Iterable[ColumnClause[Any]], name: str = "records") -> TableValuedAlias:
    """Rows with these columns' names and types, which come as one JSON document (`as_json`) in the parameter `name`.

    It makes statements that are built once and run often.
    """
    named = [column(one.name, one.type) for one in columns]
    document = cast(bindparam(name, type_=Text), JSONB)
    return func.jsonb_to_recordset(document).table_valued(*named).render_derived(name=name, with_types=True)


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """A parameter of `records`; ids and times are sent as text."""
    return orjson.dumps(rows, default=str).decode()


def listed(found: Select[Any]) -> ColumnElement[bool]:
    """The row is one of those that `found`, a select of `ctid` from the same table, lists: for changing some rows at a time."""
    return ctid == any_(func.array(found.correlate(None).scalar_subquery()))
