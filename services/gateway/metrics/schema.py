"""API schema of metrics."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import Reference, Request, Resource, is_none

MetricName = Annotated[str, Field(min_length=1, max_length=256)]
Step = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
_PART = (
    "Return only the steps from here to `last_step`, thinned separately: a narrower range shows more detail."
)


class MetricPoint(Resource):
    """A value at a step."""

    step: int
    time: datetime
    run: int
    value: float | None = Field(description="Null if it is NaN or infinite.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="The value if it is NaN or infinite; absent otherwise.",
    )


class MetricSeries(Resource):
    """Points of a metric by step, without superseded points of earlier runs."""

    group: str = Field(description="training, validation or a custom group.")
    name: str
    count: int = Field(
        description="Number of stored points; `points` has fewer if they were thinned to `max_points`."
    )
    points: list[MetricPoint]


class TrialMetrics(Resource):
    """The metrics of one trial."""

    trial: UUID
    series: list[MetricSeries]


class TrialMetricsRequest(Request):
    """Filters for the metrics of one trial. Each series is thinned to `max_points` with LTTB, which preserves its shape."""

    trial: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    max_points: Annotated[int, Field(ge=2, le=5000)] = 1000
    first_step: Step | None = Field(default=None, description=_PART)
    last_step: Step | None = None


class ReportedValue(Resource):
    """A metric value that a trial reported."""

    cursor: str = Field(description="Send it as `after` or Last-Event-ID to resume after this value.")
    trial: UUID
    trial_number: int | None = None
    run: int
    group: str
    name: str
    step: int
    time: datetime
    value: float | None = Field(description="Null if it is NaN or infinite.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="The value if it is NaN or infinite; absent otherwise.",
    )


class FollowTrialMetricsRequest(Request):
    """Metrics that one trial reports, from its start or after `after`, until it ends. The groups `system` and `timing` are not streamed; read them with the metrics of the trial."""

    trial: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    after: Annotated[str | None, Field(max_length=100)] = None
    from_now: bool = Field(default=False, description="Without `after`: only what comes from now on.")


class FollowExperimentMetricsRequest(Request):
    """Metrics that all trials of an experiment report, including new trials, until it ends. Values are in order within each trial, and interleaved across trials."""

    experiment: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    after: Annotated[str | None, Field(max_length=6000)] = None
    from_now: bool = Field(default=False, description="Without `after`: only what comes from now on.")
    without_cursors: bool = Field(
        default=False,
        description="True leaves each `cursor` empty, for clients that do not resume. A cursor holds the position in every trial.",
    )


class ExperimentMetrics(Resource):
    """Metrics of several trials of one experiment."""

    trials: list[TrialMetrics]


class ExperimentMetricsRequest(Request):
    """Filters for the metrics of an experiment's trials; by default the 50 best trials."""

    experiment: Reference
    trial: Annotated[list[Reference], Field(max_length=50)] = []
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    max_points: Annotated[int, Field(ge=2, le=1000)] = 200
    first_step: Step | None = Field(default=None, description=_PART)
    last_step: Step | None = None


class MetricSummary(Resource):
    """Summary statistics of a metric."""

    group: str
    name: str
    count: int
    min: float | None
    max: float | None
    mean: float | None
    last: float | None = Field(description="Last value; null if it is NaN or infinite.")
    last_not_finite: NotFinite | None = Field(
        default=None, description="The last value if it is NaN or infinite."
    )
    last_step: int


class MetricSummaries(Resource):
    """Summary statistics of all metrics of a trial."""

    trial: UUID
    metrics: list[MetricSummary]
