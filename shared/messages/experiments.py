"""Submissions, experiments and trials: committed by the gateway, owned by the searcher."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.base import Command, Event, Query, Record, ToWorker
from shared.messages.trial_specs import DesiredState, TrialSpec

ExperimentState = Literal[
    "active",
    "paused",
    "stopping",
    "completed",
    "error",
    "cancelled",
    "rejected",
    "deleting",
    "deleted",
]
TrialState = Literal[
    "queued",
    "running",
    "parked",
    "stopping",
    "completed",
    "stopped",
    "error",
    "cancelled",
]


class SubmissionCommitted(Event, entity="submission", happened="committed", key="experiment_id"):
    """gateway → searcher, registry: a submission was committed. Its id is the experiment's id."""

    experiment_id: ExperimentId
    version: int = 1
    number: int
    name: str
    workspace: str
    project: str
    labels: tuple[str, ...] = ()
    owner: str
    config: dict[str, JsonValue]
    code_hash: str | None = None
    forked_from: ExperimentId | None = None
    submitted_at: datetime


class BestTrial(Record):
    """Best validation so far by the search's first metric, among those within its limits."""

    trial_id: TrialId
    trial_number: int
    step: int
    value: float
    others: dict[str, float] = {}


class TrialCounts(Record):
    """Number of trials in each state.

    `planned`: how many trials the search may create; None if it does not know. `invalid` trials are not counted in `error` or `planned`;
    `finishing` ones are not counted in `stopping`.
    """

    queued: int = 0
    running: int = 0
    parked: int = 0
    stopping: int = 0
    completed: int = 0
    stopped: int = 0
    error: int = 0
    cancelled: int = 0
    invalid: int = 0
    planned: int | None = None
    finishing: int = 0


class SearchChanges(Record):
    """Changes that users made to a running search. `operation_id`: the newest change that was applied."""

    operation_id: UUID
    max_concurrent_trials: int | None = None


class SearchBudget(Record):
    """Current budget of a search, and what it had used when this was published."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float = 0.0
    used_cost: float = 0.0


class ExperimentChanged(Event, entity="experiment", happened="changed", key="experiment_id"):
    """searcher → gateway, registry: state changes at once; progress and best at most once per second."""

    experiment_id: ExperimentId
    version: int
    number: int
    state: ExperimentState
    reason: str | None = None
    archived: bool = False
    progress: float = 0.0
    best: BestTrial | None = None
    trials: TrialCounts = TrialCounts()
    priority: int | None = None
    started_at: datetime
    ended_at: datetime | None = None
    final: bool = False
    terms: SearchChanges | None = None
    budget: SearchBudget | None = None


class TrialRequested(Event, entity="trial", happened="requested", key="trial_id", line="trial request"):
    """searcher → scheduler, registry: desired state of a trial. The newest version wins, also for a new trial.

    Each request ends with one `request.closed`. `request` counts the trial's requests from 1 and increases when a closed trial is requested
    again.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    request: int = 1
    desired_state: DesiredState
    decide_at: float | None = None
    spec: TrialSpec


class Validated(Record):
    """One validation of a trial: the step, the value of the search's first metric, and other metrics by name."""

    step: int
    value: float
    others: dict[str, float] = {}


class TrialChanged(Event, entity="trial", happened="changed", key="trial_id"):
    """searcher → gateway, registry: state of a trial.

    Attributes:
        final: The trial's checkpoints are no longer pinned.
        invalid: The trial ended in error because its script rejected its hyperparameters; the search created a replacement.
        source: Number of the trial that this one copies; it starts from `start_checkpoint`, a checkpoint of that trial.
        finishing: The trial is `stopping`, its last run has ended, and some of its announced data is not stored yet; `reason` says what.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    number: int
    state: TrialState
    invalid: bool = False
    finishing: bool = False
    reason: str | None = None
    hyperparameters: dict[str, JsonValue]
    seed: int
    slots: int = 1
    source: int | None = None
    start_checkpoint: CheckpointId | None = None
    best: Validated | None = None
    latest: Validated | None = None
    runs: int = 0
    created_at: datetime
    ended_at: datetime | None = None
    final: bool = False


class TrialVerdict(ToWorker, kind="verdict"):
    """searcher → worker, after the commit: the search's decision on validation number `validation` of the run (fast path).

    `next_decide_at` None: the search decides no more about this run.
    """

    run_id: RunId
    validation: int
    verdict: Literal["go_on", "stop", "pause"]
    next_decide_at: float | None = None


class PauseExperiment(Command, owner="searcher", verb="pause_experiment"):
    """Pause an experiment: its trials save and stop, and resume later."""

    experiment_id: ExperimentId


class ResumeExperiment(Command, owner="searcher", verb="resume_experiment"):
    """Resume a paused experiment."""

    experiment_id: ExperimentId


class CancelExperiment(Command, owner="searcher", verb="cancel_experiment"):
    """Stop the trials gracefully: each is asked to save and exit."""

    experiment_id: ExperimentId


class KillExperiment(Command, owner="searcher", verb="kill_experiment"):
    """Kill the trials at once."""

    experiment_id: ExperimentId


class KillTrial(Command, owner="searcher", verb="kill_trial"):
    """Kill one trial at once; its search continues. Answered by `trial.changed` in state `stopping` or a final state."""

    experiment_id: ExperimentId
    trial_number: int


class FinishExperiment(Command, owner="searcher", verb="finish_experiment"):
    """End the search early as completed, with the best trial so far. Trials are asked to save and stop."""

    experiment_id: ExperimentId


class EditSearch(Command, owner="searcher", verb="edit_search"):
    """Change the limits of a running search. Answered by `experiment.changed` with the operation's id in its terms.

    Fields that are None stay unchanged; budget limits listed in `lifted` are removed.
    """

    experiment_id: ExperimentId
    max_trials: int | None = None
    max_concurrent_trials: int | None = None
    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    lifted: tuple[Literal["slot_hours", "cost", "deadline"], ...] = ()


class ArchiveExperiment(Command, owner="searcher", verb="archive_experiment"):
    """Archive an experiment, or with `archived` false restore it from the archive."""

    experiment_id: ExperimentId
    archived: bool = True


class OperationRefused(Event, entity="operation", happened="refused"):
    """owner → gateway: a command that was rejected, with a stable code."""

    operation_id: UUID
    version: int = 1
    code: str
    message: str
    hint: str | None = None


class Accepted(Record):
    """Result of a successful check; warnings are for the user."""

    warnings: tuple[str, ...] = ()


class ValidateConfig(Query[Accepted], owner="searcher", name="validate"):
    """Check whether the searcher accepts a config. Raises Rejected with the position in the config."""

    config: dict[str, JsonValue]


class Referenced(BaseModel):
    checkpoints: frozenset[CheckpointId]


class GetReferences(Query[Referenced], owner="searcher", name="references"):
    """Return which of these checkpoints a requested trial still references; the registry asks before it deletes."""

    checkpoints: tuple[CheckpointId, ...]


class ParetoTrial(Record):
    """A Pareto-optimal trial, with the metrics of its best validation by name."""

    trial_id: TrialId
    number: int
    state: TrialState
    step: int
    metrics: dict[str, float]
    hyperparameters: dict[str, JsonValue]


class ParetoPage(BaseModel):
    """A page of the Pareto front.

    `total`: trials on the front. `admissible`: trials that were compared. `next`: position of the last trial if more follow.
    """

    trials: tuple[ParetoTrial, ...]
    total: int
    admissible: int
    next: tuple[float, int] | None = None


class GetParetoFront(Query[ParetoPage], owner="searcher", name="pareto_front"):
    """Return the current Pareto front, best by the first metric first. `after`: position (loss, number) to continue from."""

    experiment_id: ExperimentId
    after: tuple[float, int] | None = None
    limit: int = 50
