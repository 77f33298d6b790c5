"""Queries on the table of an experiment's trials."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.trial_table.core.columns import (
    FACTS,
    Column,
    Hyperparameter,
    Metric,
    SearchMetric,
    Stat,
    metric_name,
    name_of,
    unknown,
)
from services.registry.trial_table.core.filters import (
    Filter,
    Order,
    read_column_name,
    read_filter,
    read_orders,
)
from services.registry.trial_table.store import columns as trial_columns, rows as trial_table
from services.registry.trial_table.store.rows import RowQuery
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.filters.syntax_tree import columns_of
from shared.messages.exports import ExportTable
from shared.messages.trial_tables import (
    DeclaredColumns,
    GetColumns,
    GetTable,
    KnownColumns,
    TablePage,
    TableRow,
)

ROWS_PER_PAGE = 200
COLUMNS = 64
BYTES_PER_PAGE = 300 * 1024
CELL_BYTES = 24
"""Size of a number in a reply, including separators."""
SAMPLE = 200
"""Trials sampled for the default hyperparameter columns."""
DEFAULT_HYPERPARAMETERS = 12
COMPARED = 2_000
"""Maximum number of names compared with an unknown name, to suggest one: ten of them take a millisecond."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed query on the table. `columns`: the named columns."""

    search: SearchMetric
    filter: Filter | None
    orders: tuple[Order, ...]
    columns: tuple[Column, ...]


async def read_table(
    connection: AsyncConnection, query: GetTable | ExportTable, most_columns: int
) -> Reading:
    """Parse a query.

    Raises:
        Rejected: The query is not valid, names a column that no trial has and the config does not declare, or names more than `most_columns`.
    """
    if len(query.columns) > most_columns:
        raise columns_too_many(most_columns)
    experiment = query.experiment_id
    declared = query.declared
    search = SearchMetric(declared.metric, declared.smaller_is_better)
    if declared.metric is None:
        search = await trial_columns.load_search(connection, experiment)
    filter_, orders = read_filter(query.filter, search), read_orders(query.sort, search)
    columns = tuple(read_column_name(name, search) for name in query.columns)
    await _refuse_unknown(connection, query, columns_of(filter_), "filter")
    await _refuse_unknown(connection, query, columns_of(None, orders), "sort")
    await _refuse_unknown(connection, query, columns, "column")
    return Reading(search, filter_, orders, columns)


def columns_too_many(most: int) -> Rejected:
    """Return the error for too many columns."""
    return Rejected(
        "columns_too_many", f"too many columns; at most {most} are allowed", "column", "name fewer columns"
    )


class TableQueries:
    """Answers queries on the trial table."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetTable: self.on_table, GetColumns: self.on_columns}

    async def on_table(self, ask: RequestContext, query: GetTable) -> TablePage:
        """Return the trials after the cursor that match the filter, in order; an unknown experiment has none."""
        limit = max(1, min(query.limit, ROWS_PER_PAGE))
        experiment = query.experiment_id
        async with self._units.tenant(ask.tenant) as unit:
            read = await read_table(unit.connection, query, COLUMNS)
            columns = read.columns or await _default_columns(unit.connection, experiment, read.search)
            wanted = RowQuery(experiment, read.filter, read.orders, query.after, limit + 1)
            found = await trial_table.load_rows(unit.connection, wanted, read.search)
            ids = [row.trial for row in found.rows[:limit]]
            loaded = await trial_table.load_cells(unit.connection, ids, columns, read.search)
        cells = [tuple(map(_as_json, row)) for row in loaded]
        fitting = _fitting(cells)
        rows = tuple(
            TableRow(trial_id=row.trial, number=row.number, state=row.state, cells=of)
            for row, of in zip(found.rows[:fitting], cells[:fitting], strict=True)
        )
        more = len(found.rows) > len(rows)
        return TablePage(
            columns=query.columns or tuple(map(name_of, columns)),
            rows=rows,
            next=found.rows[len(rows) - 1].cursor if more else None,
            total=found.total,
        )

    async def on_columns(self, ask: RequestContext, query: GetColumns) -> KnownColumns:
        """Return names for filters, sorts and columns, from an index on."""
        async with self._units.tenant(ask.tenant) as unit:
            names = (await _known(unit.connection, query))[query.first :]
        count = _fitting([(name,) for name in names])
        more = query.first + count if count < len(names) else None
        return KnownColumns(columns=tuple(names[:count]), next=more)


async def _refuse_unknown(
    connection: AsyncConnection, query: GetTable | ExportTable, columns: Iterable[Column], place: str
) -> None:
    """Reject a mistyped name instead of returning an empty table. Names declared in the config may be absent from all trials so far."""
    for column in dict.fromkeys(columns):
        if _is_declared(column, query.declared):
            continue
        if await trial_columns.is_known(connection, query.experiment_id, column):
            continue
        noun = "metric" if isinstance(column, Metric) else "hyperparameter"
        prefix = f"{'metrics' if isinstance(column, Metric) else 'hparams'}."
        known = [name for name in await _known(connection, query) if name.startswith(prefix)]
        if known:
            name = metric_name(*column.key) if isinstance(column, Metric) else name_of(column)
            raise unknown(name, known[:COMPARED], noun, place)


def _is_declared(column: Column, declared: DeclaredColumns) -> bool:
    match column:
        case Metric(group, name):
            return group == "validation" and name in declared.validation_metrics
        case Hyperparameter(path):
            # A group of hyperparameters is a column too.
            return any(one[: len(path)] == path for one in declared.hyperparameters)
        case _:
            return False


async def _known(connection: AsyncConnection, query: GetTable | GetColumns | ExportTable) -> list[str]:
    """Return all names: those of the trials, and those that the config declares."""
    paths = await trial_columns.load_hyperparameters(connection, query.experiment_id)
    metrics = await trial_columns.load_metric_keys(connection, query.experiment_id)
    expected = [("validation", name) for name in query.declared.validation_metrics]
    return [
        *FACTS,
        "best",
        *(name_of(Hyperparameter(path)) for path in sorted({*paths, *query.declared.hyperparameters})),
        *(metric_name(*key) for key in sorted({*metrics, *expected})),
    ]


async def _default_columns(
    connection: AsyncConnection, experiment: UUID, search: SearchMetric
) -> list[Column]:
    paths = await trial_columns.load_hyperparameters(connection, experiment, SAMPLE)
    found: list[Column] = [Hyperparameter(path) for path in paths[:DEFAULT_HYPERPARAMETERS]]
    if search.metric is None:
        return found
    metric = "validation", search.metric
    return [*found, Metric(*metric, Stat.LAST_STEP), Metric(*metric, Stat.LAST), Metric(*metric, Stat.BEST)]


def _as_json(cell: JsonValue) -> JsonValue:
    """Convert a cell to JSON, which has no NaN or infinities: they become protobuf's strings for them."""
    if not isinstance(cell, float) or math.isfinite(cell):
        return cell
    return "NaN" if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"


def _fitting(rows: Sequence[Sequence[JsonValue]]) -> int:
    """Return how many rows fit into a reply; at least one."""
    size = 0
    for count, row in enumerate(rows):
        size += 100 + sum(
            CELL_BYTES if isinstance(cell, int | float | None) else 2 * len(str(cell)) for cell in row
        )
        if size > BYTES_PER_PAGE and count:
            return count
    return len(rows)
