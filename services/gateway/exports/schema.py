"""API schema of exports of metrics and trial tables."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.checkpoints.schema import FileDownload
from services.gateway.metrics.schema import MetricName
from services.gateway.platform.schema import Reference, Request, Resource
from services.gateway.trial_tables.schema import ColumnName, Expression


class ExportFormat(StrEnum):
    """`arrow`: Arrow IPC streams; `parquet`: Parquet files. Both use zstd compression."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Export(Resource):
    """An export of an experiment's data. Each file can be read on its own; files are kept for a day."""

    id: UUID
    ready: bool = Field(
        description="False while the files are written: repeat the request with this `id` as `export`."
    )
    rows: int = 0
    files: list[FileDownload] = Field(
        default=[],
        description="Files of metrics have the columns trial (its number), run, group, name, step, time and value, sorted by trial, group, name and "
        "step across all files. Files of the table have the column `trial` (its number), then the requested columns, with rows sorted as requested.",
    )
    next_cursor: str | None = Field(default=None, description="Set if there are more files.")


class ExportRequest(Request):
    """The data to export, and the format."""

    experiment: Reference
    format: ExportFormat = ExportFormat.PARQUET
    export: UUID | None = Field(default=None, description="Id of an export that is being written.")
    cursor: Annotated[str | None, Field(max_length=1000)] = None


class ExportMetricsRequest(ExportRequest):
    """Metrics of an experiment's trials to export, without superseded points, including NaN and infinities."""

    group: Annotated[str | None, Field(max_length=100)] = None
    name: Annotated[list[MetricName], Field(max_length=64)] = []


class ExportTableRequest(ExportRequest):
    """Rows of an experiment's trial table to export, with the table's columns, filters and sort orders.

    A hyperparameter with the same type in all trials keeps it; others are exported as JSON text. Missing values are null.
    """

    filter: Expression = ""
    sort: Expression = ""
    column: Annotated[list[ColumnName], Field(max_length=64)] = Field(
        default=[],
        description="Columns to export; by default all hyperparameters and the last values of all metrics, at most 1,000 columns.",
    )
