"""Metrics as they are read back: series, comparisons and summaries of the stored points."""

from pydantic import BaseModel

from shared.ids import TrialId
from shared.messages.base import Query, Record


class Point(Record):
    step: int
    time_ms: int
    value: float
    run_number: int = 1


class Series(Record):
    group: str
    name: str
    count: int
    points: tuple[Point, ...]


class SeriesPage(BaseModel):
    trial_id: TrialId
    series: tuple[Series, ...]


class GetSeries(Query[SeriesPage], owner="registry", name="series"):
    """A trial's metrics by step, superseded points left out; `max_points` down-samples each series by LTTB."""

    trial_id: TrialId
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int | None = 1000


class SeriesPages(BaseModel):
    trials: tuple[SeriesPage, ...]


class CompareTrials(Query[SeriesPages], owner="registry", name="compare"):
    trials: tuple[TrialId, ...]
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int = 200


class TrialSummary(Record):
    """Kept current while points arrive: one row a metric."""

    group: str
    name: str
    count: int
    min: float
    max: float
    mean: float
    last: float
    last_step: int


class TrialSummaries(BaseModel):
    trial_id: TrialId
    metrics: tuple[TrialSummary, ...]


class GetSummaries(Query[TrialSummaries], owner="registry", name="summaries"):
    trial_id: TrialId
