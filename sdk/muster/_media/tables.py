"""Encoding of tables as JSON: column names, and rows of numbers, strings, booleans and nulls. Non-finite numbers become strings."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from muster._media.content import Content, bounded
from muster.errors import Rejected
from muster.wire import Json

MAX_ROWS = 100_000
MAX_COLUMNS = 1_000
MAX_CELL_CHARACTERS = 10_000


def table_of(data: object, columns: Sequence[str] | None = None) -> Content:
    """Return a table from a data frame, a mapping of columns, a list of mappings, or rows with `columns`.

    Raises:
        Rejected: The data have another type, rows differ in length, or the table is too large.
    """
    names, rows = _read(data, columns)
    if not 0 < len(names) <= MAX_COLUMNS or len(rows) > MAX_ROWS:
        raise Rejected(
            "table_too_large",
            f"the table has {len(names)} columns and {len(rows)} rows: the limits are 1 to {MAX_COLUMNS} columns and {MAX_ROWS} rows",
            place="table",
            hint="log a sample of the rows",
        )
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise Rejected(
                "table_ragged",
                f"row {number} has {len(row)} cells, but there are {len(names)} columns",
                place="table",
            )
    cells: Json = [[_cell(value) for value in row] for row in rows]
    body = json.dumps({"columns": list(names), "rows": cells}, separators=(",", ":"), ensure_ascii=False)
    content = Content(
        "application/json", body.encode("utf-8", "replace"), {"columns": len(names), "rows": len(rows)}
    )
    return bounded(content, "the table", "log a sample of the rows")


def _read(data: object, columns: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a pandas or polars data frame
        data = {str(name): list(data[name]) for name in data.columns}  # type: ignore[index]
    if isinstance(data, Mapping):
        return _by_columns(data, columns)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise _not_a_table(data)
    rows = list(data)
    if columns is None:
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise Rejected(
                "table_columns",
                "rows need `columns` with their names; or pass a list of dicts, or a dict of lists",
                place="columns",
            )
        columns = list(dict.fromkeys(name for row in rows for name in row))
    names = [str(name) for name in columns]
    try:
        return names, [
            [row.get(name) for name in columns] if isinstance(row, Mapping) else list(row) for row in rows
        ]
    except TypeError:
        raise _not_a_table(data) from None


def _by_columns(data: Mapping[Any, Any], columns: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    names = list(data) if columns is None else list(columns)
    try:
        taken = [list(data[name]) for name in names]
    except (KeyError, TypeError) as error:
        raise Rejected(
            "table_columns", f"the column {error} is missing or not a list", place="table"
        ) from None
    if len({len(column) for column in taken}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in zip(names, taken, strict=True))
        raise Rejected("table_ragged", f"the columns differ in length ({lengths})", place="table")
    return [str(name) for name in names], [list(row) for row in zip(*taken, strict=True)]


def _cell(value: Any) -> Json:
    if hasattr(value, "item") and not isinstance(value, str):  # a numpy or torch scalar
        try:
            value = value.item()
        except (TypeError, ValueError, RuntimeError):
            value = str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)[:MAX_CELL_CHARACTERS]


def _not_a_table(data: object) -> Rejected:
    return Rejected(
        "table_invalid",
        f"a table must be rows with `columns`, a dict of lists, a list of dicts or a data frame, not {type(data).__name__}",
        place="table",
    )
