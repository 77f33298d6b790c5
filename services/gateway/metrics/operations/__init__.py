"""Table of the metric operations."""

from services.gateway.metrics.operations.follow import follow_trial_metrics
from services.gateway.metrics.operations.follow_all import follow_experiment_metrics
from services.gateway.metrics.operations.read import (
    get_experiment_metrics,
    get_trial_metrics,
    get_trial_summaries,
)
from services.gateway.metrics.schema import (
    ExperimentMetrics,
    ExperimentMetricsRequest,
    FollowExperimentMetricsRequest,
    FollowTrialMetricsRequest,
    MetricSummaries,
    ReportedValue,
    TrialMetrics,
    TrialMetricsRequest,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.trials.schema import TrialRequest

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetTrialMetrics", "GET", "/v1/trials/{trial}/metrics", TrialMetricsRequest, TrialMetrics, READ_EXPERIMENT, SAFE, get_trial_metrics, waits=True),
    Operation("FollowTrialMetrics", "GET", "/v1/trials/{trial}/metrics/follow", FollowTrialMetricsRequest, ReportedValue, READ_EXPERIMENT, SAFE, follow_trial_metrics, stream="server"),
    Operation("GetTrialSummaries", "GET", "/v1/trials/{trial}/summaries", TrialRequest, MetricSummaries, READ_EXPERIMENT, SAFE, get_trial_summaries, waits=True),
    Operation("GetExperimentMetrics", "GET", "/v1/experiments/{experiment}/metrics", ExperimentMetricsRequest, ExperimentMetrics, READ_EXPERIMENT, SAFE, get_experiment_metrics, waits=True),
    Operation("FollowExperimentMetrics", "GET", "/v1/experiments/{experiment}/metrics/follow", FollowExperimentMetricsRequest, ReportedValue, READ_EXPERIMENT, SAFE, follow_experiment_metrics, stream="server"),
)
# fmt: on
