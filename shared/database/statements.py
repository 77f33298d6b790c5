"""SQL fragments whose text, and number of round trips, does not depend on the number of values or rows.

Postgres allows at most 32,767 parameters. Many values are passed as one array; many rows as one array per column, or as one JSON document.
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
"""Physical location of a row: finds rows selected by the same statement without an index."""


def among(column: ColumnElement[Any], values: Iterable[object]) -> ColumnElement[bool]:
    """Return the condition that the column equals one of these values."""
    return column == any_(literal(list(values), ARRAY(column.type)))


def rows_given(
    columns: Sequence[ColumnClause[Any]], rows: Iterable[Sequence[object]], numbered: str | None = None
) -> TableValuedAlias:
    """Return rows as a table `given` with these columns' names and types. `numbered`: name of an extra column that counts them from 1."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = (literal(list(each), ARRAY(one.type)) for one, each in zip(columns, values, strict=True))
    named = [column(one.name, one.type) for one in columns]
    table = func.unnest(*arrays).table_valued(*named, with_ordinality=numbered)
    return table.render_derived(name="given")


def records(columns: Iterable[ColumnClause[Any]], name: str = "records") -> TableValuedAlias:
    """Return rows with these columns' names and types, passed as one JSON document (`as_json`) in the parameter `name`.

    For statements that are built once and executed often.
    """
    named = [column(one.name, one.type) for one in columns]
    document = cast(bindparam(name, type_=Text), JSONB)
    return func.jsonb_to_recordset(document).table_valued(*named).render_derived(name=name, with_types=True)


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a parameter for `records`; ids and times are sent as text."""
    return orjson.dumps(rows, default=str).decode()


def listed(found: Select[Any]) -> ColumnElement[bool]:
    """Return the condition that the row is listed by `found`, a select of `ctid` from the same table: for changing rows in batches."""
    return ctid == any_(func.array(found.correlate(None).scalar_subquery()))
