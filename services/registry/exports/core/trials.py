"""The table of an experiment's trials as Arrow rows. Each column has one type; missing values are null."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
from pydantic import JsonValue

from services.registry.core.metadata import encode_json
from services.registry.trial_table.core.columns import Column, Fact, Hyperparameter, Metric, Stat, Values
from shared.filters.syntax_tree import Kind

TRIAL = "trial"
"""Column in every export, by which tables can be joined: the trial's number."""
_COUNTS = {Stat.COUNT, Stat.LAST_STEP}
_FACT_TYPES: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int32(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIME: pa.timestamp("us", "UTC"),
}


def make_schema(columns: Mapping[str, Column], values: Mapping[tuple[str, ...], Values]) -> pa.Schema:
    """Return the schema of the named columns, after the trial's number.

    A hyperparameter whose values have one type in all trials has that type. For mixed types and lists, each value is JSON text.
    """
    typed = ((name, _type(column, values)) for name, column in columns.items())
    return pa.schema([(TRIAL, pa.int32()), *typed])


def to_table(schema: pa.Schema, numbers: Sequence[int], cells: Iterable[Sequence[JsonValue]]) -> pa.Table:
    """Return trials with their cells, in order. NaN and infinities are preserved."""
    by_column = list(zip(*cells, strict=True)) or [()] * (len(schema) - 1)
    arrays = [pa.array(numbers, pa.int32())]
    for field, column in zip(list(schema)[1:], by_column, strict=True):
        arrays.append(pa.array(map(_reader(field.type), column), field.type, from_pandas=False))
    return pa.Table.from_arrays(arrays, schema=schema)


def _type(column: Column, values: Mapping[tuple[str, ...], Values]) -> pa.DataType:
    match column:
        case Fact():
            return _FACT_TYPES[column.kind]
        case Metric(_, _, stat):
            return pa.int64() if stat in _COUNTS else pa.float64()
        case Hyperparameter(path):
            of = values.get(path)
            if of is None or of.kinds == {"number"}:
                return pa.int64() if of and of.is_whole else pa.float64()
            return pa.bool_() if of.kinds == {"boolean"} else pa.string()


def _reader(of: pa.DataType) -> Callable[[JsonValue], object]:
    """Return the conversion of a cell to that type. A value whose type has changed since becomes None or JSON."""
    if pa.types.is_timestamp(of):
        return lambda cell: datetime.fromisoformat(cell) if isinstance(cell, str) else None
    if pa.types.is_string(of):
        return lambda cell: cell if cell is None or isinstance(cell, str) else encode_json(cell).decode()
    if pa.types.is_boolean(of):
        return lambda cell: cell if isinstance(cell, bool) else None
    is_whole = pa.types.is_integer(of)

    def number(cell: JsonValue) -> float | None:
        if not isinstance(cell, int | float) or isinstance(cell, bool):
            return None
        return int(cell) if is_whole else float(cell)

    return number
