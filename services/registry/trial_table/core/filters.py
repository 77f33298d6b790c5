"""Filters and orders of a table of trials, in the house's language with the table's names."""

from typing import TypeAlias

from services.registry.trial_table.core.columns import Column, Metric, SearchMetric, Stat, read_column
from shared.filters import reader, tree

Filter: TypeAlias = tree.Filter[Column]
Order: TypeAlias = tree.Order[Column]


def read_filter(text: str, search: SearchMetric, place: str = "filter") -> Filter | None:
    """Return what a filter says; None for an empty one, which all trials meet.

    Raises:
        Rejected: at which character it cannot be understood, and why.
    """
    return reader.read_filter(text, _names(search), place)


def read_orders(text: str, search: SearchMetric, place: str = "sort") -> tuple[Order, ...]:
    """Return the columns, separated by commas, that order a table; `-` before one: the greatest first.

    A `best` alone stands with the best first, whichever direction is better; with `-` the worst.
    """
    return tuple(_best_first(order, search) for order in reader.read_orders(text, _names(search), place))


def read_column_name(text: str, search: SearchMetric, place: str = "column") -> Column:
    """Return the column that a name means."""
    return reader.read_name(text, _names(search), place)


def _names(search: SearchMetric) -> reader.Names[Column]:
    return reader.Names(
        lambda parts, place: read_column(parts, search, place), "hparams.lr or metrics.validation.loss.min"
    )


def _best_first(order: Order, search: SearchMetric) -> Order:
    column = order.column
    if isinstance(column, Metric) and column.stat is Stat.BEST and not search.smaller_is_better:
        return tree.Order(column, not order.is_descending)
    return order
