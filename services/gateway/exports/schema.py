"""Exports of metrics and of the table of trials as users see them."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.checkpoints.schema import FileDownload
from services.gateway.metrics.schema import MetricName
from services.gateway.platform.schema import Reference, Request, Resource
from services.gateway.trial_tables.schema import ColumnName, Expression


class ExportFormat(StrEnum):
    """`arrow`: Arrow IPC streams; `parquet`: Parquet files. Both are compressed by zstd."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Export(Resource):
    """What an experiment has in bulk, in files of which each is whole in itself; kept for a day."""

    id: UUID
    ready: bool = Field(description="Until then ask again, with the id as `export`.")
    rows: int = 0
    files: list[FileDownload] = Field(
        default=[],
        description="Of metrics with the columns trial (its number), run, group, name, step, time, value; by trial, group, name and "
        "step over all files. Of the table with the trial's number as `trial`, then the columns; in the order that was asked for.",
    )
    next_cursor: str | None = Field(default=None, description="There are more files.")


class ExportRequest(Request):
    """What is exported, and as what."""

    experiment: Reference
    format: ExportFormat = ExportFormat.PARQUET
    export: UUID | None = Field(default=None, description="An export that is being written, by its id.")
    cursor: Annotated[str | None, Field(max_length=1000)] = None


class ExportMetricsRequest(ExportRequest):
    """The points of an experiment's trials that count, NaN and infinities too."""

    group: Annotated[str | None, Field(max_length=100)] = None
    name: Annotated[list[MetricName], Field(max_length=64)] = []


class ExportTableRequest(ExportRequest):
    """The trials of an experiment that meet a filter, in an order; columns, filters and orders are those of the table.

    A hyperparameter that is of one kind in all trials has its type, others are their JSON as text; null is what a trial has not.
    """

    filter: Expression = ""
    sort: Expression = ""
    column: Annotated[list[ColumnName], Field(max_length=64)] = Field(
        default=[],
        description="Without any: all hyperparameters, and the last values of all metrics, at most 1,000 columns.",
    )
