"""Table of the log operations."""

from services.gateway.logs.operations.read import (
    follow_experiment_logs,
    follow_trial_logs,
    list_experiment_logs,
    list_trial_logs,
)
from services.gateway.logs.operations.search import search_logs
from services.gateway.logs.schema import (
    FollowExperimentLogsRequest,
    FollowTrialLogsRequest,
    ListExperimentLogsRequest,
    ListTrialLogsRequest,
    LogLine,
    LogPage,
    SearchLogsRequest,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListTrialLogs", "GET", "/v1/trials/{trial}/logs", ListTrialLogsRequest, LogPage, READ_EXPERIMENT, SAFE, list_trial_logs, waits=True),
    Operation("ListExperimentLogs", "GET", "/v1/experiments/{experiment}/logs", ListExperimentLogsRequest, LogPage, READ_EXPERIMENT, SAFE, list_experiment_logs, waits=True),
    Operation("FollowTrialLogs", "GET", "/v1/trials/{trial}/logs/follow", FollowTrialLogsRequest, LogLine, READ_EXPERIMENT, SAFE, follow_trial_logs, stream="server"),
    Operation("FollowExperimentLogs", "GET", "/v1/experiments/{experiment}/logs/follow", FollowExperimentLogsRequest, LogLine, READ_EXPERIMENT, SAFE, follow_experiment_logs, stream="server"),
    Operation("SearchLogs", "GET", "/v1/logs", SearchLogsRequest, LogPage, READ_EXPERIMENT, SAFE, search_logs, waits=True),
)
# fmt: on
