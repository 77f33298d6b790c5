"""SQL of the trial table's cells, of filters on them, and of cursors."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any as Anything, assert_never

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Float,
    Text,
    and_,
    case,
    cast,
    false,
    func,
    literal,
    not_,
    or_,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.expression import FromClause
from sqlalchemy.types import TypeEngine

from services.registry.series.store.series import Metric as MetricKey
from services.registry.store.tables import trials
from services.registry.trial_table.core.columns import Column, Fact, Hyperparameter, Metric, Stat
from services.registry.trial_table.core.filters import Filter, Order
from shared.filters.sql import COMPARE
from shared.filters.syntax_tree import Absent, All, Any, Comparison, Contains, Not, Value

Cursor = Sequence[str | None]
"""The cells by which rows are sorted, as texts, and the trial's number last."""

FACTS: Mapping[str, ColumnElement[Anything]] = {
    "number": trials.c.number,
    "state": trials.c.state,
    "invalid": trials.c.invalid,
    "runs": trials.c.runs,
    "created": trials.c.created_at,
    "ended": trials.c.ended_at,
}
_JSON_KINDS: Mapping[type[Value], str] = {bool: "boolean", float: "number", str: "string"}
_TYPES: Mapping[type[Value], TypeEngine[Anything]] = {
    bool: Boolean(),
    float: Float(),
    str: Text(),
    datetime: DateTime(timezone=True),
}
_NAN = literal(float("nan"), Float)


def stat_of(metric: Metric, smaller_is_better: bool) -> Stat:
    """Return the statistic, with `best` resolved by the direction."""
    if metric.stat is Stat.BEST:
        return Stat.MIN if smaller_is_better else Stat.MAX
    return metric.stat


class Cells:
    """Cells of a trial table joined with its metrics, each with a column for every requested statistic."""

    def __init__(self, metrics: Mapping[MetricKey, FromClause], smaller_is_better: bool) -> None:
        self._metrics = metrics
        self._smaller_is_better = smaller_is_better

    def of(self, column: Column) -> ColumnElement[Anything]:
        """Return the SQL of a cell; NULL if it is absent, also for a metric that is NaN."""
        match column:
            case Fact(name):
                return FACTS[name]
            case Hyperparameter(path):
                found = trials.c.hyperparameters[path]
                return func.nullif(found, literal(JSONB.NULL, JSONB), type_=JSONB)
            case Metric():
                stat = stat_of(column, self._smaller_is_better)
                return func.nullif(self._metrics[column.key].c[stat], _NAN, type_=Float)
        assert_never(column)

    def condition(self, filter_: Filter) -> ColumnElement[bool]:
        """Return the SQL of a filter; it is true or false, never NULL."""
        match filter_:
            case All(of):
                return and_(*map(self.condition, of))
            case Any(of):
                return or_(*map(self.condition, of))
            case Not(of_one):
                return not_(self.condition(of_one))
            case Absent(column):
                return self.of(column).is_(None)
            case Contains(column, text):
                return func.coalesce(func.strpos(self._text(column), text) > 0, false())
            case Comparison(column, operator, value):
                return func.coalesce(self._compared(column, COMPARE[operator], value), false())
        assert_never(filter_)

    def behind(self, orders: Sequence[Order], cursor: Cursor) -> ColumnElement[bool]:
        """Return the condition for rows after a cursor; absent cells come last, ties are ordered by number."""
        *cells, number = cursor
        alternatives: list[ColumnElement[bool]] = []
        equal: list[ColumnElement[bool]] = []
        for order, at in zip(orders, cells, strict=True):
            cell = self.of(order.column)
            if at is None:
                equal.append(cell.is_(None))
                continue
            bound = cast(literal(at, Text), cell.type)
            is_behind = cell < bound if order.is_descending else cell > bound
            alternatives.append(and_(*equal, or_(is_behind, cell.is_(None))))
            equal.append(cell == bound)
        behind_number = trials.c.number > cast(literal(number, Text), trials.c.number.type)
        return or_(*alternatives, and_(*equal, behind_number))

    def _compared(
        self, column: Column, compare: Callable[..., ColumnElement[bool]], value: Value
    ) -> ColumnElement[bool]:
        cell = self.of(column)
        if isinstance(column, Hyperparameter):
            is_of_kind = func.jsonb_typeof(cell) == _JSON_KINDS[type(value)]
            return and_(is_of_kind, compare(cell, literal(value, JSONB)))
        return compare(cell, literal(value, _TYPES[type(value)]))

    def _text(self, column: Column) -> ColumnElement[Anything]:
        cell = self.of(column)
        if isinstance(column, Hyperparameter):
            return case((func.jsonb_typeof(cell) == "string", cell[()].astext))
        return cell
