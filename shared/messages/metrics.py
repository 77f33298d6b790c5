"""Reading metrics: series, comparisons and summaries of stored points."""

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
    """Return a trial's metrics by step without superseded points. `max_points` downsamples each series with LTTB."""

    trial_id: TrialId
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int | None = 1000
    first_step: int | None = None
    last_step: int | None = None


class SeriesPages(BaseModel):
    trials: tuple[SeriesPage, ...]


class CompareTrials(Query[SeriesPages], owner="registry", name="compare"):
    """Return the metrics of several trials, in the order requested; like `GetSeries` of each."""

    trials: tuple[TrialId, ...]
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int = 200
    first_step: int | None = None
    last_step: int | None = None


class TrialSummary(Record):
    """Summary of one metric, kept current as points arrive."""

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
    """Return the summary of each of a trial's metrics."""

    trial_id: TrialId


class ReportCursor(Record):
    """Read position in a trial's reports: a record of a run.

    `step`: the highest step up to there. `count`: the number of points of the run up to there.
    """

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
    """Complete records in the order of reporting. `is_last`: nothing follows `end`."""

    points: tuple[ReportedPoint, ...]
    end: ReportCursor
    is_last: bool


class GetReported(Query[ReportedPoints], owner="registry", name="reported"):
    """Return what a trial's script reported after a position, run by run. The platform's own groups (`system`, `timing`) are left out.

    Of a run that was restarted, only points that count are returned, and nothing that arrived after the first read of its successor.
    `from_now`: return only the current position.
    """

    trial_id: TrialId
    after: ReportCursor = ReportCursor()
    from_now: bool = False
    limit: int = 1000


class TrialReportCursor(Record):
    """A trial, and the position up to which its reports were read."""

    trial_id: TrialId
    after: ReportCursor = ReportCursor()


class ReportedByTrials(BaseModel):
    """Reports of each trial, in the order requested."""

    trials: tuple[ReportedPoints, ...]


class GetReportedByTrials(Query[ReportedByTrials], owner="registry", name="reported_by_trials"):
    """Return the reports of several trials, each after its own position; like `GetReported`, with `limit` points in total.

    `group`, `names`: return only these metrics. A position then counts only their points and is valid only for the same query.
    """

    trials: tuple[TrialReportCursor, ...]
    from_now: bool = False
    limit: int = 3000
    group: str | None = None
    names: tuple[str, ...] = ()
