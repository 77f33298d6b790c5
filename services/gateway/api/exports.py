"""Exports of metrics as users see them."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.api.base import Reference, Request, Resource
from services.gateway.api.checkpoints import FileDownload
from services.gateway.api.trials import MetricName


class ExportFormat(StrEnum):
    """`arrow`: Arrow IPC streams; `parquet`: Parquet files. Both are compressed by zstd."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Export(Resource):
    """All points of an experiment's trials in files; kept for a day."""

    id: UUID
    ready: bool = Field(description="Until then ask again, with the id as `export`.")
    rows: int = 0
    files: list[FileDownload] = Field(
        default=[],
        description="Columns: trial (its number), run, group, name, step, time, value; by trial, group, name and step over all files.",
    )


class ExportMetricsRequest(Request):
    """The points of an experiment's trials that count, NaN and infinities too."""

    experiment: Reference
    format: ExportFormat = ExportFormat.PARQUET
    group: Annotated[str | None, Field(max_length=100)] = None
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    export: UUID | None = Field(default=None, description="An export that is being written, by its id.")
