"""The queue: how a request ends or is edited, why it waits, and whether it could ever be placed."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.filters.fields import Listing
from shared.ids import ExperimentId, PoolName, TrialId, WorkerId
from shared.messages.base import Command, Event, Query, Record
from shared.messages.specs import SlotKind, Thousandths

RequestOutcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected"]


class RequestClosed(Event, entity="request", happened="closed", key="trial_id"):
    """scheduler → searcher: the one end of `trial.wanted` number `request`, even if no run existed.

    `invalid`: it failed because its script calls its hyperparameters invalid; `reason` says why.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    request: int
    outcome: RequestOutcome
    runs: int
    reason: str | None = None
    invalid: bool = False


class EditExperiment(Command, owner="scheduler", verb="edit_experiment"):
    """gateway → scheduler: what is None stays as it is. Answered by `request.ranked` with the operation's id."""

    experiment_id: ExperimentId
    priority: int | None = None
    weight: float | None = None
    max_slots: int | None = None
    no_max_slots: bool = False
    max_trials: int | None = None
    no_max_trials: bool = False
    pool: PoolName | None = None


class RequestRanked(Event, entity="request", happened="ranked", key="experiment_id", line="rank"):
    """scheduler → gateway: the experiment's part in the queue, set by its first request and by people since. `pool` None: as submitted."""

    experiment_id: ExperimentId
    version: int
    operation_id: UUID | None = None
    priority: int
    weight: float
    max_slots: int | None = None
    max_trials: int | None = None
    pool: PoolName | None = None


class ExpectedStart(Record):
    """When a trial will probably start: in eight of ten cases between `earliest` and `latest`. `runs`: ended ones it is reckoned from."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int


class HeldSlots(Record):
    """Slots of one worker, by their numbers there."""

    worker: WorkerId
    slots: tuple[int, ...]


class QueueEntry(Record):
    """A waiting or running request. Work of other tenants is never listed, only counted in the reasons.

    `slots`: what its run holds, or the most that it waits for; an elastic one takes from `min_slots` to `max_slots`.
    `held`: where a running one has them. `expected_start`: of a waiting one, where it was asked for and can be told.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    experiment_number: int
    trial_number: int
    pool: PoolName
    priority: int
    slots: int
    min_slots: int | None = None
    max_slots: int | None = None
    part: Thousandths = 0
    state: Literal["waiting", "running"]
    position: int | None = None
    code: str | None = None
    reason: str | None = None
    since: datetime
    held: tuple[HeldSlots, ...] = ()
    expected_start: ExpectedStart | None = None


class QueuePage(BaseModel):
    entries: tuple[QueueEntry, ...]
    next: str | None = None


class QueueFields(Record):
    """By what the queue is filtered and sorted, under the names that people are shown."""

    experiment: UUID
    experiment_number: int
    trial: UUID
    trial_number: int
    pool: str
    priority: int
    slots: int
    min_slots: int | None
    max_slots: int | None
    state: Literal["waiting", "running"]
    code: str | None
    since: datetime


QUEUE = Listing.of(QueueFields, *QueueFields.model_fields, usual="trial")
"""Without a sort it comes in the order of service, which no field tells."""


class GetQueue(Query[QueuePage], owner="scheduler", name="queue"):
    """`filter` and `sort` speak of `QueueFields`; without a sort it comes in the order of service. With a filter a page may hold fewer than its limit.
    `starts`: the first of the page that wait are shown with when they will probably start."""

    pool: PoolName | None = None
    after: str | None = None
    limit: int = 200
    filter: str = ""
    sort: str = ""
    starts: bool = False


class SlotHolder(Record):
    """A run of the asker's tenant that holds what a trial waits for; `leaving`: it was asked to give it back, or is ending."""

    experiment_number: int
    trial_number: int
    slots: int
    part: Thousandths = 0
    since: datetime
    leaving: bool = False


class PreemptionReason(Record):
    """Why a trial's run was asked for its slots. `by`: the trial that was to have them, as `experiment.trial`, where it is of the
    same tenant."""

    run_number: int
    code: str
    message: str
    by: str | None = None


class StartSuggestion(Record):
    """A change with which the trial would start, as a plan has found. `command` makes it; `pool` is the value where it is no number."""

    code: str
    starts: Literal["now", "soon"]
    message: str
    command: str
    number: int | None = None
    pool: PoolName | None = None


class Explanation(BaseModel):
    """Why a trial waits or runs: a stable code, a sentence, and the facts as data.

    Attributes:
        position: Its place in the queue, from 1.
        holders: The largest of its tenant's own `own_runs` runs that hold what it waits for.
        other_runs, other_slots: What other tenants hold of that.
        given_back: Set when its present or last run was asked for its slots.
        expected_start: None where it is not known: too few runs have ended, or it waits for more than runs' ends.
    """

    trial_id: TrialId
    state: Literal["waiting", "running", "closed", "unknown"]
    code: str
    message: str
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    position: int | None = None
    holders: tuple[SlotHolder, ...] = ()
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = 0
    other_slots: int = 0
    given_back: PreemptionReason | None = None
    ways_out: tuple[StartSuggestion, ...] = ()
    expected_start: ExpectedStart | None = None


class Explain(Query[Explanation], owner="scheduler", name="explain"):
    trial_id: TrialId


class Placeable(BaseModel):
    warnings: tuple[str, ...] = ()


class ValidatePlacement(Query[Placeable], owner="scheduler", name="validate"):
    """Could this ever be placed? Raises Rejected (`pool_unknown`, `slots_unsatisfiable`, `labels_unknown`, …) with the place in the config."""

    pool: PoolName
    workspace: str | None = None
    min_slots: int
    max_slots: int
    kind: SlotKind | None = None
    single_node: bool = False
    required_labels: dict[str, str] = Field(default_factory=dict)
    preferred_labels: dict[str, str] = Field(default_factory=dict)
    excluded_workers: tuple[WorkerId, ...] = ()
    priority: int | None = None
