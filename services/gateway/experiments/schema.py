"""API schema of experiments."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from services.gateway.checkpoints.schema import CheckpointState
from services.gateway.platform.schema import (
    JsonObject,
    Labels,
    ListRequest,
    Name,
    PageRequest,
    Reference,
    Request,
    Resource,
    Sha256,
)
from shared.filters.fields import Listing

MAX_CONFIG_CHARS = 512 * 1024


class ExperimentState(StrEnum):
    """State of an experiment; `completed`, `cancelled`, `error` and `rejected` are final."""

    SUBMITTED = "submitted"
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"
    REJECTED = "rejected"


class ExperimentTrialCounts(Resource):
    """Numbers of an experiment's trials by state. `planned` is the maximum that the search creates, not counting `invalid` ones."""

    queued: int = 0
    running: int = 0
    parked: int = 0
    stopping: int = 0
    completed: int = 0
    stopped: int = 0
    error: int = 0
    cancelled: int = 0
    invalid: int = Field(
        default=0,
        description="Trials that reported invalid hyperparameters: they are in error, but not counted there, and are replaced.",
    )
    planned: int | None = None
    finishing: int = Field(
        default=0,
        description="Trials whose last run has ended, but whose checkpoints or validations are not all stored yet.",
    )


class BestCheckpoint(Resource):
    """The checkpoint at the step of the best validation."""

    id: UUID | None = None
    state: CheckpointState | None = Field(
        default=None, description="Null if no checkpoint of this step is stored."
    )
    reason: str | None = Field(default=None, description="Why it cannot be used, or is not stored yet.")


class Best(Resource):
    """The best validation so far by the search's first metric, among those within `searcher.limits`."""

    trial: UUID
    trial_number: int
    step: int
    value: float
    others: dict[str, float] = Field(
        default={}, description="Other metrics of the search, and the metrics that `searcher.limits` uses."
    )
    checkpoint: BestCheckpoint | None = Field(
        default=None,
        description="The checkpoint at this step. Null in lists, and while the registry does not answer.",
    )


class Experiment(Resource):
    """A hyperparameter search or a single training, as in lists."""

    id: UUID
    number: int = Field(description="Sequential number within the tenant.")
    name: str
    description: str | None = None
    workspace: str
    project: str
    labels: list[str] = []
    owner: str
    state: ExperimentState
    reason: str | None = Field(
        default=None,
        description="Why it was rejected, failed or ended early, or why it completed without a result.",
    )
    progress: float = Field(default=0.0, description="0 to 1.")
    searcher: str = Field(description="Name of the search method.")
    metric: str | None = Field(
        default=None, description="Metric that ranks trials: the first, if the config has several."
    )
    smaller_is_better: bool = True
    best: Best | None = None
    trials: ExperimentTrialCounts = ExperimentTrialCounts()
    priority: int | None = Field(default=None, description="Current priority, 1 (first) to 99 (last).")
    code_sha256: str | None = None
    forked_from: UUID | None = None
    archived: bool = False
    deleting: bool = Field(default=False, description="True while it is being deleted; it cannot be changed.")
    final: bool = Field(default=False, description="True if the state is final.")
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    version: int = Field(description="Increases with every change; 0 until the searcher has picked it up.")
    hyperparameters: JsonObject | None = Field(
        default=None, description="Hyperparameters of the best trial; only in lists that request them."
    )


class ExperimentBudget(Resource):
    """The current budget of a search, and how much of it is used."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float = 0.0
    used_cost: float = 0.0


class ExperimentDetail(Experiment):
    """An experiment with its config."""

    config: JsonObject = Field(description="The config with its defaults filled in.")
    config_yaml: str | None = Field(
        default=None,
        description="The config as submitted, if it was submitted as text; null if it contained a secret.",
    )
    trace_id: str | None = Field(
        default=None, description="Trace of the request and of everything that it caused."
    )
    warnings: list[str] = Field(
        default=[],
        description="Warnings of the config validation, such as keys that behave differently than in Determined, with the difference and what to do. If"
        " the experiment completed without a result, the reason.",
    )
    weight: float = Field(default=1.0, description="Current fair-share weight.")
    max_slots: int | None = Field(
        default=None, description="Current limit of the slots that its trials use together."
    )
    max_trials: int | None = Field(
        default=None, description="Current limit of the trials that run at the same time."
    )
    pool: str = Field(default="default", description="Pool of its next runs.")
    max_concurrent_trials: int | None = Field(
        default=None,
        description="Current limit of the trials that the search has open at the same time; 0 means no limit.",
    )
    budget: ExperimentBudget | None = Field(default=None, description="Null if it has no budget.")
    waiting: str | None = Field(
        default=None,
        description="Set if the experiment is stored, but the searcher cannot pick it up because the message bus accepts no messages.",
    )

    def tagged(self) -> Self:
        """Return a copy without the volatile state of registry and bus, for the entity tag."""
        if not self.waiting and not (self.best and self.best.checkpoint):
            return self
        best = self.best.model_copy(update={"checkpoint": None}) if self.best else None
        return self.model_copy(update={"best": best, "waiting": None})


class ExperimentPage(Resource):
    """A page of experiments, newest first."""

    items: list[Experiment]
    next_cursor: str | None = None


class CreateExperimentRequest(Request):
    """A new experiment. Set exactly one of `config` and `config_yaml`; upload the code first."""

    config: JsonObject | None = Field(default=None, description="The config as a JSON object.")
    config_yaml: Annotated[str | None, Field(max_length=MAX_CONFIG_CHARS)] = None
    code_sha256: Sha256 | None = Field(
        default=None, description="Hash of an uploaded code archive (`PUT /v1/code/{sha256}`)."
    )
    name: Name | None = Field(default=None, description="Replaces the config's name.")
    template: Name | None = Field(
        default=None, description="Name of a template; the config overrides its values."
    )
    labels: Labels = Field(default=[], description="Added to the config's labels.")


class ForkExperimentRequest(Request):
    """A new experiment with the same code and a changed config."""

    experiment: Reference
    overrides: JsonObject = Field(
        default={}, description="Merged into the config (JSON merge patch, RFC 7396)."
    )
    name: Name | None = None
    labels: Labels = []


class ListExperimentsRequest(ListRequest):
    """Filters for experiments. An experiment must match all of them, and one of the states."""

    listing = Listing.of(
        Experiment,
        *("number", "name", "description", "workspace", "project", "labels", "owner", "state", "progress"),
        *(
            "searcher",
            "metric",
            "best.value",
            "trials.running",
            "trials.error",
            "priority",
            "code_sha256",
            "forked_from",
        ),
        *("final", "created_at", "started_at", "ended_at"),
        default_order="-number",
    )

    state: Annotated[list[ExperimentState], Field(max_length=8)] = []
    label: Labels = []
    name_contains: Annotated[str | None, Field(max_length=200)] = None
    archived: bool = Field(default=False, description="True lists archived experiments instead.")
    hyperparameters: bool = Field(
        default=False, description="True includes the hyperparameters of each best trial."
    )


class ExperimentRequest(Request):
    """One experiment by its number or id."""

    experiment: Reference


class EditExperimentRequest(Request):
    """Changes of an experiment's scheduling policy; omitted fields stay unchanged."""

    experiment: Reference
    priority: int | None = Field(default=None, description="1 (first) to 99 (last).")
    weight: float | None = Field(default=None, description="Fair-share weight, above 0.")
    max_slots: int | None = Field(
        default=None, description="Limit of the slots that its trials use together."
    )
    no_max_slots: bool = Field(default=False, description="True removes `max_slots`.")
    max_trials: int | None = Field(
        default=None,
        description="Limit of the trials that run at the same time, however many the search has open.",
    )
    no_max_trials: bool = Field(default=False, description="True removes `max_trials`.")
    pool: Annotated[str | None, Field(min_length=1, max_length=128)] = Field(
        default=None, description="Pool of its next runs; current runs are asked to save and move there."
    )


class EditSearchRequest(Request):
    """Changes of a running search; omitted fields stay unchanged."""

    experiment: Reference
    max_trials: int | None = Field(
        default=None, description="Total number of trials; at least as many as it has created."
    )
    max_concurrent_trials: int | None = Field(
        default=None,
        description="Limit of the trials that are open at the same time; trials that are already open stay.",
    )
    slot_hours: float | None = Field(default=None, description="New budget in slot-hours.")
    no_slot_hours: bool = Field(default=False, description="True removes `slot_hours`.")
    cost: float | None = Field(default=None, description="New budget in the currency of the pools' prices.")
    no_cost: bool = Field(default=False, description="True removes `cost`.")
    deadline: datetime | None = Field(default=None, description="Time by which it must have ended.")
    no_deadline: bool = Field(default=False, description="True removes `deadline`.")


class JournalEntry(Resource):
    """A decision of the search; `position` gives the authoritative order."""

    position: int
    time: datetime
    kind: str
    facts: JsonObject = {}


class JournalPage(Resource):
    """A page of an experiment's journal, oldest first."""

    items: list[JournalEntry]
    next_cursor: str | None = None


class ReplayDifference(Resource):
    """The first decision of a replay that differs from the journal."""

    position: int
    kind: str
    recorded: JsonObject = Field(description="Decision in the journal.")
    recomputed: JsonObject = Field(description="Decision of the replay.")
    summary: str = Field(description="The difference in a sentence.")


class Replay(Resource):
    """Result of replaying a search from its journal. The search is reproduced if `checked` equals `decisions` and `difference` is null."""

    decisions: int = Field(description="Number of decisions in the journal.")
    checked: int = Field(description="Number of decisions replayed, from the first, within the time limit.")
    difference: ReplayDifference | None = None


class ListJournalRequest(PageRequest):
    """The journal of one experiment."""

    experiment: Reference


MOST_NAMED = 200


class LabelExperimentsRequest(Request):
    """Labels to add to and remove from experiments, all of which must exist."""

    experiments: Annotated[list[Reference], Field(min_length=1, max_length=MOST_NAMED)]
    add: Labels = Field(default=[], description="Labels to add; labels that an experiment already has stay.")
    remove: Labels = []


class LabelledExperiments(Resource):
    """The changed experiments, by number."""

    items: list[Experiment]
