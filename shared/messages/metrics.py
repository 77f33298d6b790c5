"""Metrics as they are read back: series, comparisons and summaries of the stored points."""

from pydantic import BaseModel

from shared.ids import TrialId
from shared.messages.base import Query, Record


class SeriesPoint(Record):
    step: int
    time_ms: int
    value: float
    run_number: int = 1


class Series(Record):
    group: str
    name: str
    count: int
    points: tuple[SeriesPoint, ...]


class SeriesPage(BaseModel):
    trial_id: TrialId
    series: tuple[Series, ...]


class GetSeries(Query[SeriesPage], owner="registry", name="series"):
    """A trial's metrics by step, superseded points left out; `max_points` down-samples each series by LTTB."""

    trial_id: TrialId
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int | None = 1000
    first_step: int | None = None
    last_step: int | None = None


class SeriesPages(BaseModel):
    trials: tuple[SeriesPage, ...]


class CompareTrials(Query[SeriesPages], owner="registry", name="compare"):
    trials: tuple[TrialId, ...]
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int = 200
    first_step: int | None = None
    last_step: int | None = None


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


class ReportCursor(Record):
    """How far somebody has read what a trial reports: up to a record of a run. `step` is the highest there, `count` how many points the run had up to there."""

    run_number: int = 0
    record: int = -1
    step: int = -(2**63)
    count: int = 0


class ReportedPoint(Record):
    run_number: int
    record: int
    group: str
    name: str
    step: int
    time_ms: int
    value: float


class ReportedPoints(BaseModel):
    """Whole records, in the order of their reporting; `is_last` where nothing was left out behind `end`."""

    points: tuple[ReportedPoint, ...]
    end: ReportCursor
    is_last: bool


class GetReported(Query[ReportedPoints], owner="registry", name="reported"):
    """What a trial's script has reported behind a place, run by run; what was measured around it (`system`, `timing`) is no part of it.

    Of a run that has a successor only what counts is told, and nothing that came after the successor's first was read. `from_now`: only where it stands.
    """

    trial_id: TrialId
    after: ReportCursor = ReportCursor()
    from_now: bool = False
    limit: int = 1000


class TrialReportCursor(Record):
    """A trial, and how far somebody has read what it reports."""

    trial_id: TrialId
    after: ReportCursor = ReportCursor()


class ReportedByTrials(BaseModel):
    """What each of the trials has reported, in the order asked."""

    trials: tuple[ReportedPoints, ...]


class GetReportedByTrials(Query[ReportedByTrials], owner="registry", name="reported_by_trials"):
    """What the scripts of several trials have reported, each behind its own place: as `GetReported` of each, with `limit` points of all together.

    `group`, `names`: of these metrics alone; a place then counts their points, and is good for the same question only.
    """

    trials: tuple[TrialReportCursor, ...]
    from_now: bool = False
    limit: int = 3000
    group: str | None = None
    names: tuple[str, ...] = ()
