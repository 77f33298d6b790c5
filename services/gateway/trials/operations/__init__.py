"""Table of the operations on trials and runs."""

from services.gateway.cluster.schema import Explanation
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, READ_EXPERIMENT, SAFE, WRITE_EXPERIMENT
from services.gateway.trials.operations.kill import KILLED, kill_trial
from services.gateway.trials.operations.read import (
    explain_trial,
    get_trial,
    list_pareto_front,
    list_runs,
    list_trials,
)
from services.gateway.trials.schema import (
    FrontPage,
    ListFrontRequest,
    ListRunsRequest,
    ListTrialsRequest,
    RunPage,
    Trial,
    TrialPage,
    TrialRequest,
)

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListTrials", "GET", "/v1/experiments/{experiment}/trials", ListTrialsRequest, TrialPage, READ_EXPERIMENT, SAFE, list_trials, waits=True),
    Operation("ListExperimentFront", "GET", "/v1/experiments/{experiment}/front", ListFrontRequest, FrontPage, READ_EXPERIMENT, SAFE, list_pareto_front, waits=True),
    Operation("GetTrial", "GET", "/v1/trials/{trial}", TrialRequest, Trial, READ_EXPERIMENT, SAFE, get_trial),
    Operation("KillTrial", "POST", "/v1/trials/{trial}/kill", TrialRequest, Trial, WRITE_EXPERIMENT, NATURAL, kill_trial, outcome=KILLED),
    Operation("ListRuns", "GET", "/v1/trials/{trial}/runs", ListRunsRequest, RunPage, READ_EXPERIMENT, SAFE, list_runs),
    Operation("ExplainTrial", "GET", "/v1/trials/{trial}/explanation", TrialRequest, Explanation, READ_EXPERIMENT, SAFE, explain_trial, waits=True),
)
# fmt: on
