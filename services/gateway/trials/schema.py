"""Trials and their runs as users see them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import (
    JsonObject,
    ListRequest,
    PageRequest,
    Reference,
    Request,
    Resource,
    is_none,
)
from shared.filters.fields import Listing


class TrialState(StrEnum):
    """Where a trial stands; `completed`, `stopped`, `error` and `cancelled` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    STOPPING = "stopping"
    COMPLETED = "completed"
    STOPPED = "stopped"
    ERROR = "error"
    CANCELLED = "cancelled"


class Measured(Resource):
    """The search's first metric at one validation."""

    step: int
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="Which it is, where `value` is null; not there otherwise.",
    )
    others: dict[str, float] = Field(
        default={}, description="Further metrics of the search, and those that its limits speak of."
    )
    others_not_finite: dict[str, NotFinite] = Field(
        default={}, description="Those that were no finite number, and which."
    )


class Trial(Resource):
    """One point of a search space and how far its training came."""

    id: UUID
    experiment: UUID
    experiment_number: int
    number: int = Field(
        description="Its number within the experiment; `31.4` names trial 4 of experiment 31."
    )
    state: TrialState
    invalid: bool = Field(
        default=False,
        description="Its script called its hyperparameters invalid: it is in `error`, counts for nothing, and was replaced.",
    )
    finishing: bool = Field(
        default=False,
        description="It is `stopping`: its last run has ended, and checkpoints or validations of it are not all stored yet.",
    )
    reason: str | None = Field(
        default=None,
        description="Why it failed or was ended; while it is `finishing`, what is not stored yet.",
    )
    hyperparameters: JsonObject
    seed: int
    slots: int = Field(description="The most slots that a run of it takes; each run's members tell its own.")
    min_slots: int | None = Field(default=None, description="The fewest, where it is elastic.")
    slot_part: float | None = Field(
        default=None, description="How much of its slot it takes, where it shares one."
    )
    source: int | None = Field(
        default=None, description="The number of the trial that it copies, in population-based training."
    )
    start_checkpoint: UUID | None = Field(
        default=None, description="That trial's checkpoint, from which it starts."
    )
    best: Measured | None = None
    latest: Measured | None = None
    runs: int = Field(default=0, description="Attempts to train it so far.")
    final: bool = False
    created_at: datetime
    ended_at: datetime | None = None
    version: int


class TrialPage(Resource):
    """A page of trials."""

    items: list[Trial]
    next_cursor: str | None = None


class TrialOrder(StrEnum):
    """How a list of trials is ordered: by number, or by the search's metric, best first."""

    NUMBER = "number"
    BEST = "best"


class ListTrialsRequest(ListRequest):
    """The trials of one experiment."""

    listing = Listing.of(
        Trial,
        *(
            "number",
            "state",
            "invalid",
            "finishing",
            "seed",
            "slots",
            "source",
            "best.value",
            "runs",
            "final",
            "created_at",
            "ended_at",
        ),
        usual="number",
    )

    experiment: Reference
    state: Annotated[list[TrialState], Field(max_length=8)] = []
    order: TrialOrder = TrialOrder.NUMBER
    invalid: bool | None = Field(
        default=None,
        description="Those that their scripts called invalid: true, these beside the states given, or alone; false, none of them; "
        "left out, they are in `error`.",
    )


class FrontTrial(Resource):
    """A trial that no other of its experiment beats in every metric, by its best validation."""

    trial: UUID
    trial_number: int
    state: TrialState
    step: int
    metrics: dict[str, float] = Field(description="The search's metrics, and those that its limits speak of.")
    hyperparameters: JsonObject


class FrontPage(Resource):
    """A page of an experiment's Pareto front, best by the first metric first."""

    items: list[FrontTrial]
    total: int = Field(description="How many trials are on the front.")
    admissible: int = Field(description="How many trials have a result within the limits.")
    next_cursor: str | None = None


class ListFrontRequest(PageRequest):
    """The Pareto front of one experiment."""

    experiment: Reference


class TrialRequest(Request):
    """One trial by its id, or as `31.4`: trial 4 of experiment 31."""

    trial: Reference


class RunMember(Resource):
    """The part of one worker in a run."""

    worker: str
    slots: int
    slot_part: float | None = Field(
        default=None, description="How much of its slot is the run's, where it shares one."
    )


class Run(Resource):
    """One attempt to train a trial."""

    id: UUID
    trial: UUID
    number: int
    state: str = Field(description="granted or ended.")
    outcome: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    charged: bool = Field(default=False, description="True when it counts against max_restarts.")
    pool: str
    members: list[RunMember]
    granted_at: datetime
    ended_at: datetime | None = None
    labels: list[str] = Field(
        default_factory=list, description="Names of the log policies that its output met, once it has ended."
    )


class RunPage(Resource):
    """A page of runs, oldest first."""

    items: list[Run]
    next_cursor: str | None = None


class ListRunsRequest(ListRequest):
    """The runs of one trial."""

    listing = Listing.of(
        Run,
        *("number", "state", "outcome", "exit_code", "charged", "pool", "granted_at", "ended_at"),
        usual="number",
    )

    trial: Reference
