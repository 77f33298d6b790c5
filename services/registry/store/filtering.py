"""From the tree of a filter to SQL: fixed pieces, and whatever a user wrote as a bound parameter."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

from services.registry.core.tables.columns import Column, Fact, Hyperparameter, Metric, Stat
from services.registry.core.tables.filters import Filter, Order
from shared.expressions.tree import Absent, All, Any, Comparison, Contains, Not, Value

Cursor = Sequence[str | None]
"""The cells by which a row is ordered, as texts, its number last."""

_FACTS = {
    "number": "t.number",
    "state": "t.state",
    "invalid": "t.invalid",
    "runs": "t.runs",
    "created": "t.created_at",
    "ended": "t.ended_at",
}
_FACT_TYPES = {
    "number": "int",
    "state": "text",
    "invalid": "boolean",
    "runs": "int",
    "created": "timestamptz",
    "ended": "timestamptz",
}
_JSON_TYPES: dict[type[Value], str] = {bool: "boolean", float: "number", str: "string"}
_CASTS: dict[type[Value], str] = {bool: "boolean", float: "float8", str: "text", datetime: "timestamptz"}


class Statement:
    """Collects the parameters of one statement, and the metrics that it has to join."""

    def __init__(self, smaller_is_better: bool) -> None:
        self.arguments: list[object] = []
        self.metrics: dict[tuple[str, str], set[str]] = {}
        """What is asked of which metric; the place of each names its table."""
        self._smaller_is_better = smaller_is_better

    def bind(self, value: object, cast: str) -> str:
        """Return the placeholder of a value."""
        self.arguments.append(value)
        return f"${len(self.arguments)}::{cast}"

    def cell(self, column: Column) -> str:
        """Return the SQL of a column's cell; NULL where it is absent, a metric without a number too."""
        match column:
            case Fact(name):
                return _FACTS[name]
            case Hyperparameter(path):
                return f"nullif(t.hyperparameters #> {self.bind(list(path), 'text[]')}, 'null'::jsonb)"
            case Metric():
                self.metrics.setdefault(column.key, set()).add(self._stat(column.stat))
                place = list(self.metrics).index(column.key)
                return f"nullif(m{place}.{self._stat(column.stat)}, 'NaN')"
        assert_never(column)

    def condition(self, filter_: Filter) -> str:
        """Return the SQL of a filter; it is true or false, never unknown."""
        match filter_:
            case All(of):
                return "(" + " AND ".join(map(self.condition, of)) + ")"
            case Any(of):
                return "(" + " OR ".join(map(self.condition, of)) + ")"
            case Not(of_one):
                return f"(NOT {self.condition(of_one)})"
            case Absent(column):
                return f"({self.cell(column)} IS NULL)"
            case Contains(column, text):
                return f"coalesce(strpos({self._text(column)}, {self.bind(text, 'text')}) > 0, false)"
            case Comparison(column, operator, value):
                return self._compared(column, "<>" if operator == "!=" else operator, value)
        assert_never(filter_)

    def after(self, orders: Sequence[Order], cursor: Cursor) -> str:
        """Return the condition of standing behind a row; absent cells are last, ties by number."""
        *cells, number = cursor
        ways, equal = [], []
        for order, at in zip(orders, cells, strict=True):
            cell, cast = self.cell(order.column), sql_type(order.column)
            if at is None:
                equal.append(f"{cell} IS NULL")
                continue
            bound = f"{self.bind(at, 'text')}::{cast}"
            sign = "<" if order.is_descending else ">"
            ways.append(_joined([*equal, f"({cell} {sign} {bound} OR {cell} IS NULL)"]))
            equal.append(f"{cell} = {bound}")
        ways.append(_joined([*equal, f"t.number > {self.bind(number, 'text')}::int"]))
        return "(" + " OR ".join(ways) + ")"

    def _compared(self, column: Column, operator: str, value: Value) -> str:
        cell = self.cell(column)
        if isinstance(column, Hyperparameter):
            kind = _JSON_TYPES[type(value)]
            bound = self.bind(json.dumps(value), "jsonb")
            return f"coalesce(jsonb_typeof({cell}) = '{kind}' AND {cell} {operator} {bound}, false)"
        return f"coalesce({cell} {operator} {self.bind(value, _CASTS[type(value)])}, false)"

    def _text(self, column: Column) -> str:
        cell = self.cell(column)
        if isinstance(column, Hyperparameter):
            return f"CASE WHEN jsonb_typeof({cell}) = 'string' THEN {cell} #>> '{{}}' END"
        return cell

    def _stat(self, stat: Stat) -> str:
        if stat is Stat.BEST:
            return "min" if self._smaller_is_better else "max"
        return stat.value


def sql_type(column: Column) -> str:
    """The type of a column's cells in Postgres."""
    match column:
        case Fact(name):
            return _FACT_TYPES[name]
        case Hyperparameter():
            return "jsonb"
        case Metric():
            return "float8"
    assert_never(column)


def _joined(conditions: Iterable[str]) -> str:
    return "(" + " AND ".join(conditions) + ")"
