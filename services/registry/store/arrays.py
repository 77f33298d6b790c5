"""Many values as one array, many rows as an array for each column: a statement has 32,767 parameters at most, and stays the same for any number."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, TableValuedAlias, any_, column, func, literal
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.expression import ColumnClause


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
