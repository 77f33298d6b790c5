"""All points of an experiment as files that readers of Arrow and Parquet know."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from shared.ids import ExperimentId
from shared.messages.base import Query
from shared.messages.files import FileLink

Format = Literal["arrow", "parquet"]


class Exported(BaseModel):
    """`files` are there once it `is_ready`; until then the same question with `export_id` asks how far it is. Kept for a day."""

    export_id: UUID
    is_ready: bool = False
    rows: int = 0
    files: tuple[FileLink, ...] = ()


class ExportMetrics(Query[Exported], owner="registry", name="export"):
    """Has the current points of an experiment's trials written, by trial, group, name and step; the same points are written once."""

    experiment_id: ExperimentId
    format: Format = "parquet"
    group: str | None = None
    names: tuple[str, ...] = ()
    export_id: UUID | None = None
