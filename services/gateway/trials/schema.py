"""Requests and responses for trials and their runs."""

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
    """State of a trial. `completed`, `stopped`, `error` and `cancelled` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    STOPPING = "stopping"
    COMPLETED = "completed"
    STOPPED = "stopped"
    ERROR = "error"
    CANCELLED = "cancelled"


class Measured(Resource):
    """The metrics of one validation."""

    step: int
    value: float | None = Field(description="Value of the search's first metric. Null if it is not finite.")
    not_finite: NotFinite | None = Field(
        default=None,
        exclude_if=is_none,
        description="The value if it is not finite; omitted otherwise.",
    )
    others: dict[str, float] = Field(
        default={}, description="Values of the search's other metrics and of the metrics in its limits."
    )
    others_not_finite: dict[str, NotFinite] = Field(
        default={}, description="Other metrics whose values are not finite."
    )


class Trial(Resource):
    """A trial: one point of the search space and the state of its training."""

    id: UUID
    experiment: UUID
    experiment_number: int
    number: int = Field(
        description="The trial's number within the experiment. `31.4` names trial 4 of experiment 31."
    )
    state: TrialState
    invalid: bool = Field(
        default=False,
        description="True if the script reported the hyperparameters as invalid. Such a trial is in `error`, does not count for the search, and was replaced.",
    )
    finishing: bool = Field(
        default=False,
        description="True if the trial is `stopping`, its last run has ended, and some of its checkpoints or validations are not stored yet.",
    )
    reason: str | None = Field(
        default=None,
        description="Why the trial failed or was stopped. While it is `finishing`: the data that is not stored yet.",
    )
    hyperparameters: JsonObject
    seed: int
    slots: int = Field(description="Maximum slots of a run. The members of a run show the slots that it got.")
    min_slots: int | None = Field(default=None, description="Minimum slots of an elastic trial.")
    slot_fraction: float | None = Field(
        default=None, description="Fractional slot: the share of its slot, if the trial shares one."
    )
    source: int | None = Field(
        default=None, description="Number of the trial that this one copies, in population-based training."
    )
    start_checkpoint: UUID | None = Field(
        default=None, description="Checkpoint of the source trial that this trial starts from."
    )
    best: Measured | None = None
    latest: Measured | None = None
    runs: int = Field(default=0, description="Number of runs so far.")
    final: bool = False
    created_at: datetime
    ended_at: datetime | None = None
    version: int


class TrialPage(Resource):
    """A page of trials."""

    items: list[Trial]
    next_cursor: str | None = None


class TrialOrder(StrEnum):
    """Order of a list of trials: by number, or by the search's metric with the best first."""

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
        default_order="number",
    )

    experiment: Reference
    state: Annotated[list[TrialState], Field(max_length=8)] = []
    order: TrialOrder = TrialOrder.NUMBER
    invalid: bool | None = Field(
        default=None,
        description="True: return trials that their scripts reported as invalid, in addition to the given states, or alone without states. "
        "False: exclude them. If omitted, they count as `error`.",
    )


class FrontTrial(Resource):  # glossary: allowed
    """A Pareto-optimal trial: no other trial of the experiment is better in every metric. The best validation of each trial counts."""

    trial: UUID
    trial_number: int
    state: TrialState
    step: int
    metrics: dict[str, float] = Field(
        description="Values of the search's metrics and of the metrics in its limits."
    )
    hyperparameters: JsonObject


class FrontPage(Resource):  # glossary: allowed
    """A page of an experiment's Pareto front, sorted by the first metric, best first."""

    items: list[FrontTrial]
    total: int = Field(description="Number of trials on the front.")
    admissible: int = Field(description="Number of trials with a result within the limits.")
    next_cursor: str | None = None


class ListFrontRequest(PageRequest):  # glossary: allowed
    """The Pareto front of one experiment."""

    experiment: Reference


class TrialRequest(Request):
    """One trial by its id, or as `31.4`: trial 4 of experiment 31."""

    trial: Reference


class RunMember(Resource):
    """A worker's allocation in a run."""

    worker: str
    slots: int
    slot_fraction: float | None = Field(
        default=None, description="Fractional slot: the run's share of the slot, if the run shares one."
    )


class Run(Resource):
    """A run: one attempt to train a trial."""

    id: UUID
    trial: UUID
    number: int
    state: str = Field(description="`granted` or `ended`.")
    outcome: str | None = Field(
        default=None,
        description="`completed`, `stopped`, `parked`, `preempted`, `cancelled`, `killed`, `failed`, `lost` with its machine, or `interrupted`"
        " because its worker was stopped.",
    )
    reason: str | None = None
    exit_code: int | None = None
    charged: bool = Field(default=False, description="True if the run counts against `max_restarts`.")
    pool: str
    members: list[RunMember]
    granted_at: datetime
    ended_at: datetime | None = None
    labels: list[str] = Field(
        default_factory=list,
        description="Names of the log policies that matched the run's output. Set when the run has ended.",
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
        default_order="number",
    )

    trial: Reference
