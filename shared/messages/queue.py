"""The queue: outcomes and edits of requests, why a request waits, and whether it can be placed at all."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.filters.fields import Listing
from shared.ids import ExperimentId, PoolName, TrialId, WorkerId
from shared.messages.base import Command, Event, Query, Record
from shared.messages.trial_specs import SlotKind, Thousandths

RequestOutcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected"]


class RequestClosed(Event, entity="request", happened="closed", key="trial_id"):
    """scheduler → searcher: the single end of request number `request` of `trial.requested`, even if it had no run.

    `invalid`: it failed because its script rejected its hyperparameters; `reason` says why.
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
    """gateway → scheduler: fields that are None stay unchanged. Answered by `request.ranked` with the operation's id."""

    experiment_id: ExperimentId
    priority: int | None = None
    weight: float | None = None
    max_slots: int | None = None
    no_max_slots: bool = False
    max_trials: int | None = None
    no_max_trials: bool = False
    pool: PoolName | None = None


class RequestRanked(Event, entity="request", happened="ranked", key="experiment_id", line="rank"):
    """scheduler → gateway: the experiment's policy in the queue, set by its first request and by later edits. `pool` None: as submitted."""

    experiment_id: ExperimentId
    version: int
    operation_id: UUID | None = None
    priority: int
    weight: float
    max_slots: int | None = None
    max_trials: int | None = None
    pool: PoolName | None = None


class ExpectedStart(Record):
    """When a trial will probably start: `earliest` and `latest` are the 10th and 90th percentile. `runs`: number of ended runs used."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int


class HeldSlots(Record):
    """Slots of one worker, by number."""

    worker: WorkerId
    slots: tuple[int, ...]


class QueueEntry(Record):
    """A waiting or running request. Requests of other tenants are never listed, only counted in the reasons.

    `slots`: slots held by its run, or the maximum that it waits for; an elastic request takes from `min_slots` to `max_slots`. `held`: slots of
    a running request. `expected_start`: of a waiting request, if requested and known.
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
    fraction: Thousandths = 0
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
    """Fields by which the queue is filtered and sorted, under their public names."""

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


QUEUE = Listing.of(QueueFields, *QueueFields.model_fields, default_order="trial")
"""Without a sort the queue comes in scheduling order, which no field contains."""


class GetQueue(Query[QueuePage], owner="scheduler", name="queue"):
    """List the queue. `filter` and `sort` use the fields of `QueueFields`; without a sort it comes in scheduling order.

    With a filter, a page may hold fewer entries than its limit. `starts`: include the expected start of the first waiting requests of the page.
    """

    pool: PoolName | None = None
    after: str | None = None
    limit: int = 200
    filter: str = ""
    sort: str = ""
    starts: bool = False


class SlotHolder(Record):
    """A run of the asker's tenant that holds slots a trial waits for. `leaving`: it was asked to release them, or is ending."""

    experiment_number: int
    trial_number: int
    slots: int
    fraction: Thousandths = 0
    since: datetime
    leaving: bool = False


class PreemptionReason(Record):
    """Why a trial's run was preempted. `by`: the trial that gets the slots, as `experiment.trial`, if it is of the same tenant."""

    run_number: int
    code: str
    message: str
    by: str | None = None


class StartSuggestion(Record):
    """A change with which the trial would start, found by a scheduling plan. `command` makes it. `pool`: the new value if it is not a number."""

    code: str
    starts: Literal["now", "soon"]
    message: str
    command: str
    number: int | None = None
    pool: PoolName | None = None


class Explanation(BaseModel):
    """Why a trial waits or runs: a stable code, a sentence, and the facts as data.

    Attributes:
        position: Position in the queue, from 1.
        holders: The largest of the tenant's own `own_runs` runs that hold what the trial waits for.
        other_runs, other_slots: Runs and slots of other tenants that hold the same resources.
        preemption: Set if the trial's current or last run was preempted.
        expected_start: None if unknown: too few runs have ended, or the trial waits for something other than ending runs.
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
    preemption: PreemptionReason | None = None
    suggestions: tuple[StartSuggestion, ...] = ()
    expected_start: ExpectedStart | None = None


class Explain(Query[Explanation], owner="scheduler", name="explain"):
    """Explain why a trial waits or runs."""

    trial_id: TrialId


class Placeable(BaseModel):
    """Result of a successful check; warnings are for the user."""

    warnings: tuple[str, ...] = ()


class ValidatePlacement(Query[Placeable], owner="scheduler", name="validate"):
    """Check whether a request can ever be placed.

    Raises Rejected (`pool_unknown`, `slots_unsatisfiable`, `labels_unknown`, …) with the position in the config.
    """

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
