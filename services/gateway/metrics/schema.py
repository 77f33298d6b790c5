"""What trials measured, as users see it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import Reference, Request, Resource, is_none

MetricName = Annotated[str, Field(min_length=1, max_length=256)]
Step = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
_PART = "Only the steps from here to `last_step`, thinned by themselves: who looks closer at a part sees more of it."


class MetricPoint(Resource):
    """One value at one step."""

    step: int
    time: datetime
    run: int
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="Which it is, where `value` is null; not there otherwise.",
    )


class MetricSeries(Resource):
    """One metric's points in the order of their step; superseded points of older runs are left out."""

    group: str = Field(description="training, validation or a group of the user's own.")
    name: str
    count: int = Field(description="Points stored; fewer are shown when `max_points` thins them.")
    points: list[MetricPoint]


class TrialMetrics(Resource):
    """The metrics of one trial."""

    trial: UUID
    series: list[MetricSeries]


class TrialMetricsRequest(Request):
    """The metrics of one trial, each series thinned to `max_points` without losing its shape (LTTB)."""

    trial: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    max_points: Annotated[int, Field(ge=2, le=5000)] = 1000
    first_step: Step | None = Field(default=None, description=_PART)
    last_step: Step | None = None


class ReportedValue(Resource):
    """One value that a trial has reported."""

    cursor: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    trial: UUID
    trial_number: int | None = None
    run: int
    group: str
    name: str
    step: int
    time: datetime
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="Which it is, where `value` is null; not there otherwise.",
    )


class FollowTrialMetricsRequest(Request):
    """What one trial reports, from its beginning or behind `after` until it has ended. What is measured around it (`system`, `timing`) is read from its metrics."""

    trial: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    after: Annotated[str | None, Field(max_length=100)] = None
    from_now: bool = Field(default=False, description="Without `after`: only what comes from now on.")


class FollowExperimentMetricsRequest(Request):
    """What all trials of an experiment report, those that begin meanwhile too, until it has ended; each trial's values come in their order, and those of several as they come."""

    experiment: Reference
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    after: Annotated[str | None, Field(max_length=6000)] = None
    from_now: bool = Field(default=False, description="Without `after`: only what comes from now on.")
    without_cursors: bool = Field(
        default=False,
        description="Each value's `cursor` is empty: it names the place in every trial, and is for who goes on behind it.",
    )


class ExperimentMetrics(Resource):
    """The metrics of several trials of one experiment."""

    trials: list[TrialMetrics]


class ExperimentMetricsRequest(Request):
    """The metrics of an experiment's trials: of those given, else of the 50 best."""

    experiment: Reference
    trial: Annotated[list[Reference], Field(max_length=50)] = []
    name: Annotated[list[MetricName], Field(max_length=64)] = []
    group: Annotated[str | None, Field(max_length=100)] = None
    max_points: Annotated[int, Field(ge=2, le=1000)] = 200
    first_step: Step | None = Field(default=None, description=_PART)
    last_step: Step | None = None


class MetricSummary(Resource):
    """One metric in numbers."""

    group: str
    name: str
    count: int
    min: float | None
    max: float | None
    mean: float | None
    last: float | None = Field(description="Null when it is not a finite number.")
    last_not_finite: NotFinite | None = Field(default=None, description="Which it is, where `last` is null.")
    last_step: int


class MetricSummaries(Resource):
    """Every metric of a trial in numbers."""

    trial: UUID
    metrics: list[MetricSummary]
