"""The table of an experiment's trials: hyperparameters, state and metrics."""

from pydantic import BaseModel, Field, JsonValue

from shared.ids import ExperimentId, TrialId
from shared.messages.base import Query, Record


class TableRow(Record):
    """`cells`: one per column. None: the trial has no value. Values that are not finite are `NaN`, `Infinity` or `-Infinity`."""

    trial_id: TrialId
    number: int
    state: str | None = None
    cells: tuple[JsonValue, ...]


class TablePage(BaseModel):
    """`columns`: as requested, else their full names. `total`: number of rows that match, on the first page only. `next`: `after` of the next page."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    next: tuple[str | None, ...] | None = None
    total: int | None = None


class DeclaredColumns(Record):
    """Names that the config declares, reported or not: the search's metric, validation metrics that its searcher reads, hyperparameter paths."""

    metric: str | None = None
    smaller_is_better: bool = True
    validation_metrics: tuple[str, ...] = ()
    hyperparameters: tuple[tuple[str, ...], ...] = ()


class GetTable(Query[TablePage], owner="registry", name="table"):
    """Return one page of the trials that match a filter, in order. Without `columns`: a default selection."""

    experiment_id: ExperimentId
    filter: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    after: tuple[str | None, ...] | None = None
    limit: int = 50
    declared: DeclaredColumns = DeclaredColumns()


class KnownColumns(BaseModel):
    """All names for filters, sorts and columns of the experiment; metrics without a statistic. `next`: index of the first name on the next page."""

    columns: tuple[str, ...]
    next: int | None = None


class GetColumns(Query[KnownColumns], owner="registry", name="columns"):
    """Return column names from index `first` on, as many as fit into a reply."""

    experiment_id: ExperimentId
    first: int = Field(default=0, ge=0)
    declared: DeclaredColumns = DeclaredColumns()
