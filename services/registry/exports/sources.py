"""Exportable data of an experiment: its points, and the table of its trials."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.exports import export_data
from services.registry.exports.core import points, trials
from services.registry.trial_table.core.columns import (
    FACTS,
    Column,
    Fact,
    Hyperparameter,
    Metric,
    Stat,
    name_of,
)
from services.registry.trial_table.queries import Reading, columns_too_many, read_table
from services.registry.trial_table.store import columns as trial_columns, rows as trial_table
from services.registry.trial_table.store.rows import RowQuery
from shared.bus import Units
from shared.ids import TenantId
from shared.messages.exports import ExportMetrics, ExportTable

COLUMNS = 1_000
CELLS_AT_ONCE = 100_000
"""Limit on memory: a metric's summary takes several hundred bytes."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points that count, by trial, group, name and step. Each piece is read in its own transaction: a long one would block vacuum."""

    units: Units

    async def load_version(self, tenant: TenantId, question: ExportMetrics) -> tuple[str | int, ...]:
        """Return the number of points, and the newest series."""
        async with self.units.tenant(tenant) as unit:
            return await export_data.count_points(
                unit.connection, question.experiment_id, question.group, question.names
            )

    async def read(self, tenant: TenantId, question: ExportMetrics) -> AsyncIterator[pa.Table]:
        """Yield several trials at a time, or a range of steps of one metric."""
        yield points.SCHEMA.empty_table()
        wanted = question.group, question.names
        async with self.units.tenant(tenant) as unit:
            pieces = await export_data.plan_pieces(unit.connection, question.experiment_id, *wanted)
        for piece in pieces:
            async with self.units.tenant(tenant) as unit:
                found = await export_data.load_rows(unit.connection, piece, *wanted)
            yield await asyncio.to_thread(points.to_table, found)


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials that match a filter, each once, in the order at the start of the export."""

    units: Units

    async def load_version(self, tenant: TenantId, question: ExportTable) -> tuple[str | int, ...]:
        """Return a fingerprint of the trials' states and reports."""
        async with self.units.tenant(tenant) as unit:
            columns = await _columns(
                unit.connection, question, await read_table(unit.connection, question, COLUMNS)
            )
            fingerprint = await export_data.load_fingerprint(unit.connection, question.experiment_id)
            return (*fingerprint, *columns)

    async def read(self, tenant: TenantId, question: ExportTable) -> AsyncIterator[pa.Table]:
        """Yield as many trials at a time as have `CELLS_AT_ONCE` cells."""
        async with self.units.tenant(tenant) as unit:
            read = await read_table(unit.connection, question, COLUMNS)
            columns = await _columns(unit.connection, question, read)
            paths = [column.path for column in columns.values() if isinstance(column, Hyperparameter)]
            values = await trial_columns.load_values(unit.connection, question.experiment_id, paths)
            wanted = RowQuery(question.experiment_id, read.filter, read.orders)
            order = await trial_table.load_order(unit.connection, wanted, read.search)
        schema = trials.make_schema(columns, values)
        yield schema.empty_table()
        at_once = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        for at in range(0, len(order), at_once):
            ids, numbers = zip(*order[at : at + at_once], strict=True)
            async with self.units.tenant(tenant) as unit:
                cells = await trial_table.load_cells(
                    unit.connection, ids, list(columns.values()), read.search
                )
            yield await asyncio.to_thread(trials.to_table, schema, numbers, cells)


async def _columns(connection: AsyncConnection, question: ExportTable, read: Reading) -> dict[str, Column]:
    """Return the columns by name: the requested ones, or all."""
    if question.columns:
        return dict(zip(question.columns, read.columns, strict=True))
    return await _all_columns(connection, question.experiment_id, read.search.metric)


async def _all_columns(
    connection: AsyncConnection, experiment: UUID, metric: str | None
) -> dict[str, Column]:
    """Return the default columns: trial facts except the number, all hyperparameters, and the last value of each metric."""
    paths = await trial_columns.load_hyperparameters(connection, experiment)
    keys = await trial_columns.load_metric_keys(connection, experiment)
    found: dict[str, Column] = {name: Fact(name) for name in FACTS if name != "number"}
    if metric is not None:
        found["best"] = Metric("validation", metric, Stat.BEST)
    named: list[Column] = [*map(Hyperparameter, paths), *(Metric(*key, Stat.LAST) for key in keys)]
    found |= {name_of(column): column for column in named}
    if len(found) > COLUMNS:
        raise columns_too_many(COLUMNS)
    return found
