"""Submissions, experiments and trials: what the gateway commits and the searcher owns."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.base import Command, Event, Query, Record, ToWorker
from shared.messages.specs import DesiredState, TrialSpec

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
    """gateway → searcher, registry. The experiment's id is the submission's."""

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
    """The best validation so far by the search's first metric, of those within its limits."""

    trial_id: TrialId
    trial_number: int
    step: int
    value: float
    others: dict[str, float] = {}


class TrialCounts(Record):
    """How many trials are in each state, and how many the search may make (None = it does not know). Invalid ones count apart from
    those in error, and not among those it may make; finishing ones apart from those that are stopping."""

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
    """What people have changed of a running search; `operation_id`: the newest change that is made."""

    operation_id: UUID
    max_concurrent_trials: int | None = None


class SearchBudget(Record):
    """What a search may use in all, as it is now, and what it had used when this was told."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float = 0.0
    used_cost: float = 0.0


class ExperimentChanged(Event, entity="experiment", happened="changed", key="experiment_id"):
    """searcher → gateway, registry. State at once; progress and best at most once a second."""

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


class TrialWanted(Event, entity="trial", happened="wanted", key="trial_id", line="trial wish"):
    """searcher → scheduler, registry. The newest version wins, also for a trial not seen before; each ends in one `request.closed`.

    `request` counts the trial's requests from 1: it rises when a closed trial is wanted again, so that each request closes once.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    request: int = 1
    wanted: DesiredState
    decide_at: float | None = None
    spec: TrialSpec


class Validated(Record):
    """One validation of a trial: the step, the search's first metric there, and what else counts by name."""

    step: int
    value: float
    others: dict[str, float] = {}


class TrialChanged(Event, entity="trial", happened="changed", key="trial_id"):
    """searcher → gateway, registry. `final` unpins its checkpoints. `invalid`: it ended in error because its script calls its
    hyperparameters invalid; another was made in its stead. `source`: the number of the trial that it copies, from whose `start_checkpoint` it
    starts. `finishing`: it is `stopping`, its last run has ended, and what that announced is not all
    stored; `reason` says what is missing."""

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
    """searcher → worker, after commit: the fast path. Answers validation number `validation` of the run; `next_decide_at` None = never again."""

    run_id: RunId
    validation: int
    verdict: Literal["go_on", "stop", "pause"]
    next_decide_at: float | None = None


class PauseExperiment(Command, owner="searcher", verb="pause_experiment"):
    experiment_id: ExperimentId


class ResumeExperiment(Command, owner="searcher", verb="resume_experiment"):
    experiment_id: ExperimentId


class CancelExperiment(Command, owner="searcher", verb="cancel_experiment"):
    """Trials are asked to stop, save and end."""

    experiment_id: ExperimentId


class KillExperiment(Command, owner="searcher", verb="kill_experiment"):
    """Trials are ended at once."""

    experiment_id: ExperimentId


class KillTrial(Command, owner="searcher", verb="kill_trial"):
    """One trial is ended at once, and its search goes on. Answered by `trial.changed` in state `stopping`, or in a final one."""

    experiment_id: ExperimentId
    trial_number: int


class FinishExperiment(Command, owner="searcher", verb="finish_experiment"):
    """The search ends early, as completed, with the best so far: trials are asked to save and stop."""

    experiment_id: ExperimentId


class EditSearch(Command, owner="searcher", verb="edit_search"):
    """A running search goes so far from now on; what is None stays, and limits of its budget that are `lifted` go. Answered by `experiment.changed` with the operation's id in its terms."""

    experiment_id: ExperimentId
    max_trials: int | None = None
    max_concurrent_trials: int | None = None
    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    lifted: tuple[Literal["slot_hours", "cost", "deadline"], ...] = ()


class ArchiveExperiment(Command, owner="searcher", verb="archive_experiment"):
    experiment_id: ExperimentId
    archived: bool = True


class OperationRefused(Event, entity="operation", happened="refused"):
    """owner → gateway: a command that could not be carried out, with a stable code."""

    operation_id: UUID
    version: int = 1
    code: str
    message: str
    hint: str | None = None


class Accepted(Record):
    """A check that found nothing wrong; warnings are for the user."""

    warnings: tuple[str, ...] = ()


class ValidateConfig(Query[Accepted], owner="searcher", name="validate"):
    """Would the searcher take this config? Raises Rejected with the place."""

    config: dict[str, JsonValue]


class Referenced(BaseModel):
    checkpoints: frozenset[CheckpointId]


class GetReferences(Query[Referenced], owner="searcher", name="references"):
    """Which of these checkpoints a wanted trial still names: the registry asks before it deletes."""

    checkpoints: tuple[CheckpointId, ...]


class ParetoTrial(Record):
    """A trial that none other beats in every metric, with its best validation: all that counts of it by name."""

    trial_id: TrialId
    number: int
    state: TrialState
    step: int
    metrics: dict[str, float]
    hyperparameters: dict[str, JsonValue]


class ParetoPage(BaseModel):
    """`total` trials are on the front, `admissible` were compared; `next` is the last one's place where more follow."""

    trials: tuple[ParetoTrial, ...]
    total: int
    admissible: int
    next: tuple[float, int] | None = None


class GetParetoFront(Query[ParetoPage], owner="searcher", name="front"):
    """The Pareto front as it is now, best by the first metric first, from behind `after` (loss and number), at most `limit`."""

    experiment_id: ExperimentId
    after: tuple[float, int] | None = None
    limit: int = 50
