"""Filters and sorts of the trial table: the common filter language with the table's names."""

from typing import TypeAlias

from services.registry.trial_table.core.columns import Column, Metric, SearchMetric, Stat, read_column
from shared.filters import parser, syntax_tree

Filter: TypeAlias = syntax_tree.Filter[Column]
Order: TypeAlias = syntax_tree.Order[Column]


def read_filter(text: str, search: SearchMetric, place: str = "filter") -> Filter | None:
    """Parse a filter; None for an empty one, which all trials match.

    Raises:
        Rejected: The filter is not valid; the message says at which character, and why.
    """
    return parser.read_filter(text, _names(search), place)


def read_orders(text: str, search: SearchMetric, place: str = "sort") -> tuple[Order, ...]:
    """Parse the sort columns, separated by commas; `-` before a column means descending.

    `best` sorts the best trials first, whatever the search's direction; `-best` the worst first.
    """
    return tuple(_best_first(order, search) for order in parser.read_orders(text, _names(search), place))


def read_column_name(text: str, search: SearchMetric, place: str = "column") -> Column:
    """Parse the name of a column."""
    return parser.read_name(text, _names(search), place)


def _names(search: SearchMetric) -> parser.Names[Column]:
    return parser.Names(
        lambda parts, place: read_column(parts, search, place), "hparams.lr or metrics.validation.loss.min"
    )


def _best_first(order: Order, search: SearchMetric) -> Order:
    column = order.column
    if isinstance(column, Metric) and column.stat is Stat.BEST and not search.smaller_is_better:
        return syntax_tree.Order(column, not order.is_descending)
    return order
