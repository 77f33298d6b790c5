"""The table of an experiment's trials: what they were made of, where they stand, and what they reached."""

from pydantic import BaseModel, Field, JsonValue

from shared.ids import ExperimentId, TrialId
from shared.messages.base import Query, Record


class TableRow(Record):
    """`cells`: one for each column; None where the trial has no such value; what is no finite number is `NaN`, `Infinity` or `-Infinity`."""

    trial_id: TrialId
    number: int
    state: str | None = None
    cells: tuple[JsonValue, ...]


class TablePage(BaseModel):
    """`columns`: as they were asked for, else in full. `total`: how many rows meet the filter, on the first page only. `next`: what to ask `after` for the page behind."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    next: tuple[str | None, ...] | None = None
    total: int | None = None


class DeclaredColumns(Record):
    """What the config of an experiment declares, reported or not: its search's metric, the validation metrics that its searcher reads, and
    the paths of its hyperparameters."""

    metric: str | None = None
    smaller_is_better: bool = True
    validation_metrics: tuple[str, ...] = ()
    hyperparameters: tuple[tuple[str, ...], ...] = ()


class GetTable(Query[TablePage], owner="registry", name="table"):
    """One page of the trials that meet a filter, in an order; without `columns` those that say most."""

    experiment_id: ExperimentId
    filter: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    after: tuple[str | None, ...] | None = None
    limit: int = 50
    declared: DeclaredColumns = DeclaredColumns()


class KnownColumns(BaseModel):
    """Every name that a filter, a sort or a column of the experiment can have; of a metric without its stat. `next`: there are more, from this place on."""

    columns: tuple[str, ...]
    next: int | None = None


class GetColumns(Query[KnownColumns], owner="registry", name="columns"):
    """The names from place `first` on, as many as fit into an answer."""

    experiment_id: ExperimentId
    first: int = Field(default=0, ge=0)
    declared: DeclaredColumns = DeclaredColumns()
