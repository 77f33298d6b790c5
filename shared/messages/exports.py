"""All points of an experiment, or the table of its trials, as files that readers of Arrow and Parquet know."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import ExperimentId
from shared.messages.base import Query
from shared.messages.files import FileLink
from shared.messages.tables import DeclaredColumns

Format = Literal["arrow", "parquet"]


class Exported(BaseModel):
    """`files` are there once it `is_ready`; until then the same question with `export_id` asks how far it is. Kept for a day.

    `next`: there are more files, from this one on.
    """

    export_id: UUID
    is_ready: bool = False
    rows: int = 0
    files: tuple[FileLink, ...] = ()
    next: int | None = None


class Export(Query[Exported]):
    """What any export is asked for by. The same rows in the same format are written once.

    `first`: from which file on the answer has them.
    """

    experiment_id: ExperimentId
    format: Format = "parquet"
    export_id: UUID | None = None
    first: int = Field(default=0, ge=0)


class ExportMetrics(Export, owner="registry", name="export"):
    """Has the current points of an experiment's trials written, by trial, group, name and step."""

    group: str | None = None
    names: tuple[str, ...] = ()


class ExportTable(Export, owner="registry", name="export_table"):
    """Has the trials that meet a filter written, in an order; without `columns` with all that there are, of metrics the last values."""

    filter: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    declared: DeclaredColumns = DeclaredColumns()
