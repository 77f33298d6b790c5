"""Experiments as users see them."""

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
    """Where an experiment stands; `completed`, `cancelled`, `error` and `rejected` are final."""

    SUBMITTED = "submitted"
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"
    REJECTED = "rejected"


class ExperimentTrialCounts(Resource):
    """How many of an experiment's trials stand where; `planned` is what the search may make in all, `invalid` ones not counted."""

    queued: int = 0
    running: int = 0
    parked: int = 0
    stopping: int = 0
    completed: int = 0
    stopped: int = 0
    error: int = 0
    cancelled: int = 0
    invalid: int = Field(
        default=0, description="Called invalid by their scripts: in error, not counted there, and replaced."
    )
    planned: int | None = None
    finishing: int = Field(
        default=0,
        description="Their last runs have ended; checkpoints or validations are not all stored yet.",
    )


class BestCheckpoint(Resource):
    """What became of the checkpoint at the step of the best validation."""

    id: UUID | None = None
    state: CheckpointState | None = Field(
        default=None, description="Null where no checkpoint of this step is stored."
    )
    reason: str | None = Field(default=None, description="Why it cannot be used, or is not stored yet.")


class Best(Resource):
    """The best validation so far by the search's first metric, of those within its limits."""

    trial: UUID
    trial_number: int
    step: int
    value: float
    others: dict[str, float] = Field(
        default={}, description="Further metrics of the search, and those that its limits speak of."
    )
    checkpoint: BestCheckpoint | None = Field(
        default=None,
        description="What became of the checkpoint at this step. Null in lists, and while it cannot be found out.",
    )


class Experiment(Resource):
    """One search or single training, as lists show it."""

    id: UUID
    number: int = Field(description="The tenant's running number, as people say it.")
    name: str
    description: str | None = None
    workspace: str
    project: str
    labels: list[str] = []
    owner: str
    state: ExperimentState
    reason: str | None = Field(
        default=None,
        description="Why it was rejected, failed or ended early; of one that completed without a result, why there is none.",
    )
    progress: float = Field(default=0.0, description="0 to 1.")
    searcher: str = Field(description="The search method's name.")
    metric: str | None = Field(default=None, description="Of several, the first: it ranks.")
    smaller_is_better: bool = True
    best: Best | None = None
    trials: ExperimentTrialCounts = ExperimentTrialCounts()
    priority: int | None = Field(default=None, description="1 (first) to 99 (last), as it is now.")
    code_sha256: str | None = None
    forked_from: UUID | None = None
    archived: bool = False
    deleting: bool = Field(
        default=False, description="It is being deleted, and nothing of it can be changed."
    )
    final: bool = Field(default=False, description="True when nothing of it can change any more.")
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    version: int = Field(description="Rises with every change; 0 until the searcher took it up.")
    hyperparameters: JsonObject | None = Field(
        default=None, description="Of its best trial; in lists alone, and where they were asked for."
    )


class ExperimentBudget(Resource):
    """What a search may use in all, as it is now, and what it has used."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float = 0.0
    used_cost: float = 0.0


class ExperimentDetail(Experiment):
    """One experiment with its whole config."""

    config: JsonObject = Field(description="The config with its defaults filled in.")
    config_yaml: str | None = Field(
        default=None,
        description="The config as it was sent, when sent as text; null where a secret stood in it.",
    )
    trace_id: str | None = Field(default=None, description="The trace of the request and all that follows.")
    warnings: list[str] = Field(
        default=[],
        description="What the config's check found worth saying. Of a key that does something else here than in Determined: its name, what"
        " happens instead, and what to do. Of one that completed without a result: why there is none.",
    )
    weight: float = Field(default=1.0, description="Its part under fair share, as it is now.")
    max_slots: int | None = Field(
        default=None, description="The most that its trials may hold together, now."
    )
    max_trials: int | None = Field(default=None, description="How many of its trials run at once, now.")
    pool: str = Field(default="default", description="Where its next runs go.")
    max_concurrent_trials: int | None = Field(
        default=None, description="How many trials its search has open at once, now; 0: as many as there are."
    )
    budget: ExperimentBudget | None = Field(default=None, description="None: it has none.")
    waiting: str | None = Field(
        default=None,
        description="Of one that the searcher has not taken up: that it is stored and not on its way yet, because the message bus accepts"
        " no messages.",
    )

    def tagged(self) -> Self:
        """Without what the registry and the bus say of it at the moment."""
        if not self.waiting and not (self.best and self.best.checkpoint):
            return self
        best = self.best.model_copy(update={"checkpoint": None}) if self.best else None
        return self.model_copy(update={"best": best, "waiting": None})


class ExperimentPage(Resource):
    """A page of experiments, newest first."""

    items: list[Experiment]
    next_cursor: str | None = None


class CreateExperimentRequest(Request):
    """Exactly one of `config` and `config_yaml`; the code must have been put before."""

    config: JsonObject | None = Field(default=None, description="The config as a JSON object.")
    config_yaml: Annotated[str | None, Field(max_length=MAX_CONFIG_CHARS)] = None
    code_sha256: Sha256 | None = Field(
        default=None, description="Hash of a code archive that was put before."
    )
    name: Name | None = Field(default=None, description="Replaces the config's name.")
    template: Name | None = Field(default=None, description="Of a template: the config is laid over it.")
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
    """Filters narrow the list; several states are alternatives."""

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
        usual="-number",
    )

    state: Annotated[list[ExperimentState], Field(max_length=8)] = []
    label: Labels = []
    name_contains: Annotated[str | None, Field(max_length=200)] = None
    archived: bool = Field(default=False, description="True lists the archived ones instead.")
    hyperparameters: bool = Field(
        default=False, description="True tells of each the hyperparameters of its best trial."
    )


class ExperimentRequest(Request):
    """One experiment by its number or id."""

    experiment: Reference


class EditExperimentRequest(Request):
    """Changes of an experiment's part in the queue; what is left out stays as it is."""

    experiment: Reference
    priority: int | None = Field(default=None, description="1 (first) to 99 (last).")
    weight: float | None = Field(default=None, description="Above 0; its part under fair share.")
    max_slots: int | None = Field(default=None, description="The most that its trials may hold together.")
    no_max_slots: bool = Field(default=False, description="True takes `max_slots` away.")
    max_trials: int | None = Field(
        default=None, description="How many of its trials run at once, however many its search has begun."
    )
    no_max_trials: bool = Field(default=False, description="True takes `max_trials` away.")
    pool: Annotated[str | None, Field(min_length=1, max_length=128)] = Field(
        default=None, description="Where its next runs go; running ones are asked to save and move."
    )


class EditSearchRequest(Request):
    """Changes of how far a running search goes; what is left out stays as it is."""

    experiment: Reference
    max_trials: int | None = Field(
        default=None, description="How many trials it makes in all; not fewer than it has made."
    )
    max_concurrent_trials: int | None = Field(
        default=None, description="How many are open at once; those that are open stay."
    )
    slot_hours: float | None = Field(default=None, description="New limit of its budget.")
    no_slot_hours: bool = Field(default=False, description="True takes `slot_hours` away.")
    cost: float | None = Field(default=None, description="New limit of its budget.")
    no_cost: bool = Field(default=False, description="True takes `cost` away.")
    deadline: datetime | None = Field(default=None, description="When it must have ended.")
    no_deadline: bool = Field(default=False, description="True takes `deadline` away.")


class JournalEntry(Resource):
    """One decision of the search, in the order that is the truth."""

    position: int
    time: datetime
    kind: str
    facts: JsonObject = {}


class JournalPage(Resource):
    """A page of an experiment's journal, oldest first."""

    items: list[JournalEntry]
    next_cursor: str | None = None


class ReplayDifference(Resource):
    """The first decision that came out otherwise."""

    position: int
    kind: str
    recorded: JsonObject = Field(description="What was decided then.")
    recomputed: JsonObject = Field(description="What is decided now.")
    said: str = Field(description="Both in a sentence.")


class Replay(Resource):
    """A search decided again from its journal; it is the same where `checked` equals `decisions` and nothing differs."""

    decisions: int = Field(description="How many the journal holds.")
    checked: int = Field(description="How many were decided again, from the first, in the time there was.")
    difference: ReplayDifference | None = None


class ListJournalRequest(PageRequest):
    """The journal of one experiment."""

    experiment: Reference


MOST_NAMED = 200


class LabelExperimentsRequest(Request):
    """Labels that named experiments get and lose; all of these must be there."""

    experiments: Annotated[list[Reference], Field(min_length=1, max_length=MOST_NAMED)]
    add: Labels = Field(default=[], description="What an experiment has already stays as it is.")
    remove: Labels = []


class LabelledExperiments(Resource):
    """The experiments as they are now, by number."""

    items: list[Experiment]
