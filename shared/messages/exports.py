"""Exports of an experiment's points or trial table as Arrow or Parquet files."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import ExperimentId
from shared.messages.base import Query
from shared.messages.files import FileLink
from shared.messages.trial_tables import DeclaredColumns

Format = Literal["arrow", "parquet"]


class Exported(BaseModel):
    """State of an export. `files` are listed once it `is_ready`; until then, repeat the query with `export_id`. Exports are kept for a day.

    `next`: value of `first` for the next page of files.
    """

    export_id: UUID
    is_ready: bool = False
    rows: int = 0
    files: tuple[FileLink, ...] = ()
    next: int | None = None


class Export(Query[Exported]):
    """Base of export queries. The same rows in the same format are written only once.

    `first`: index of the first file to return.
    """

    experiment_id: ExperimentId
    format: Format = "parquet"
    export_id: UUID | None = None
    first: int = Field(default=0, ge=0)


class ExportMetrics(Export, owner="registry", name="export"):
    """Export the current points of an experiment's trials, ordered by trial, group, name and step."""

    group: str | None = None
    names: tuple[str, ...] = ()


class ExportTable(Export, owner="registry", name="export_table"):
    """Export the trials that match a filter, in order. Without `columns`: all columns, with the last value of each metric."""

    filter: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    declared: DeclaredColumns = DeclaredColumns()
