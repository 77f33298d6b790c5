"""Resources of the platform's API. Generated from the gateway's API types by `make gen`; do not edit."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JsonObject = dict[str, JsonValue]
"""User-owned content: configs, hyperparameters, metadata."""


class Resource(BaseModel):
    """Base class of API resources; fields of a newer platform are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class AuditOutcome(StrEnum):
    """Whether the call was allowed."""

    ALLOWED = "allowed"
    DENIED = "denied"


class AuditRecord(Resource):
    """One audited request: caller, operation, entity, outcome, origin and change."""

    sequence: int = Field(description="Starts at 1; has no gaps.")
    at: datetime
    id: UUID
    actor: str | None = Field(default=None, description="Name of the caller; null for an unknown token.")
    user: UUID | None = None
    token: UUID | None = None
    operation: str | None = None
    entity: str | None = Field(default=None, description="Affected entity, such as `experiment/31`.")
    path: dict[str, str] = Field(default={}, description="Path parameters as the caller sent them.")
    asked: JsonObject | None = Field(default=None, description="Other request fields, without secrets.")
    before: JsonObject | None = None
    after: JsonObject | None = None
    outcome: AuditOutcome
    code: str | None = Field(
        default=None, description="Error code of a denied request, or a code that describes the result."
    )
    count: int = Field(
        default=1, description="Number of occurrences within one second; greater than 1 only for denials."
    )
    address: str | None = None
    agent: str | None = None
    protocol: str | None = None
    trace_id: str | None = None
    hash: str = Field(description="Hash of the chain up to and including this record.")


class AuditPage(Resource):
    """A page of audit records, newest first."""

    items: list[AuditRecord]
    next_cursor: str | None = None


class AuditLine(Resource):
    """One record as a line of JSON, with the previous hash and its own hash."""

    line: str
    cursor: str = Field(
        description="Sequence number of the record. Send it as Last-Event-ID to resume after it."
    )


class AuditHead(Resource):
    """The latest record of a chain. Store it outside Muster to prove later that no earlier record was changed or removed."""

    tenant: UUID = Field(description="Tenant of the chain; the site has an id of its own.")
    sequence: int = Field(description="0 if no record is sealed yet.")
    hash: str


class AuditVerification(Resource):
    """Result of rehashing every record in part of a chain."""

    follows: str | None = Field(
        default=None,
        description="Hash before the first verified record; null if record `after` does not exist.",
    )
    sequence: int = Field(description="Sequence number of the last valid record.")
    hash: str | None = Field(default=None, description="Hash of the last valid record.")
    complete: bool = Field(description="False if records after `sequence` remain to be verified.")
    broken_at: int | None = Field(
        default=None, description="Sequence number of the first record that breaks the chain."
    )
    broken_by: str | None = None
    anchors: int | None = Field(
        default=None,
        description="Number of external anchors that were compared with this part of the chain; null if the site stores none.",
    )
    broken_anchor: str | None = Field(
        default=None, description="Object with the anchor that contradicts the chain; null if none does."
    )


class WhenSpent(StrEnum):
    """The effect on running trials when the budget is spent: `hold` lets them continue; `preempt` makes them save and release their slots."""

    HOLD = "hold"
    PREEMPT = "preempt"


class MonthlyBudget(Resource):
    """A monthly budget in the currency of the pools' prices. Months are in UTC. Pools whose machines have no price cost nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="Null for the tenant's own budget.")
    per_month: float | None = Field(default=None, description="Null if no budget is set.")
    when_spent: WhenSpent = WhenSpent.HOLD
    spent: float = Field(default=0.0, description="Amount spent since `since`.")
    since: datetime | None = Field(default=None, description="Start of the month.")
    warnings: list[str] = Field(default=[], description="Warnings about the budget that this request set.")


class MonthlyBudgets(Resource):
    """Budgets by tenant: the tenant's own first, then those of its workspaces by name."""

    items: list[MonthlyBudget]


class BulkAction(StrEnum):
    """The action to apply to each experiment; it works as the operation on a single experiment."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    KILL = "kill"
    FINISH = "finish"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


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


class CheckpointState(StrEnum):
    """State of a checkpoint; only `saved` checkpoints can be used."""

    UPLOADING = "uploading"
    SAVED = "saved"
    ABANDONED = "abandoned"
    CORRUPT = "corrupt"
    DELETED = "deleted"


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


class ExperimentSelection(Resource):
    """The experiments that match a filter now, and a token to act on exactly these."""

    count: int
    sample: list[Experiment] = Field(description="The newest matches, at most ten.")
    selection: str | None = Field(
        default=None,
        description="Token for the action. It is valid for this caller for ten minutes, as long as the filter matches the same experiments. "
        "Null if the filter matches none, or more than 500.",
    )
    expires_at: datetime


class OperationState(StrEnum):
    """State of a long operation."""

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"


class BulkItem(Resource):
    """Result of the action for one experiment."""

    experiment: UUID
    number: int
    state: OperationState = Field(
        description="done: the action took effect; refused: it cannot be applied; running: it takes longer than the request waits."
    )
    operation: UUID | None = Field(
        default=None, description="Id of the operation to poll if `state` is running."
    )
    code: str | None = Field(default=None, description="Error code if `state` is refused.")
    message: str | None = None


class BulkOutcome(Resource):
    """Results of the action, ordered by experiment number."""

    items: list[BulkItem]


class NotFinite(StrEnum):
    """A float value that JSON cannot represent."""

    NAN = "nan"
    INFINITY = "infinity"
    NEGATIVE_INFINITY = "negative_infinity"


class CheckpointFile(Resource):
    """One file of a checkpoint."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str


class Checkpoint(Resource):
    """A checkpoint of a trial. Only saved checkpoints can be downloaded."""

    id: UUID
    trial: UUID
    experiment: UUID
    run: int
    step: int
    state: CheckpointState
    size_bytes: int
    files: int
    metrics: dict[str, float] = {}
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Metrics whose value is NaN or infinite, with that value."
    )
    metadata: JsonObject = {}
    reason: str | None = None
    created_at: datetime
    verified_at: datetime | None = Field(
        default=None,
        description="Time since which all files are known to match their hashes. Files are verified again periodically.",
    )
    manifest: list[CheckpointFile] = Field(default=[], description="Files of the checkpoint; empty in lists.")


class CheckpointPage(Resource):
    """A page of checkpoints, oldest first."""

    items: list[Checkpoint]
    next_cursor: str | None = None


class VerificationAsked(Resource):
    """Amount of data to verify; a file that several checkpoints share counts once. The result appears as `verified_at` or the state `corrupt` of each checkpoint."""

    checkpoints: int
    files: int
    size_bytes: int


class RetentionPolicy(Resource):
    """How many checkpoints collection keeps: the union of the three sets."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Resource):
    """A checkpoint to delete."""

    id: UUID
    trial: UUID
    trial_number: int | None = Field(default=None, description="Number of the trial within its experiment.")
    step: int
    size_bytes: int


class Collected(Resource):
    """Checkpoints that a collection deletes, and counts of those that it keeps, by reason."""

    policy: RetentionPolicy
    dry_run: bool
    count: int
    size_bytes: int = Field(description="Total size of the deleted checkpoints as listed.")
    freed_bytes: int = Field(
        description="Size of the contents that no remaining checkpoint shares. The store frees them a day later."
    )
    checkpoints: list[CollectedCheckpoint] = Field(
        default=[], description="The 200 largest of the deleted checkpoints."
    )
    kept: dict[str, int] = Field(default={}, description="Number of remaining checkpoints by reason.")


class WorkspaceStorage(Resource):
    """Storage of a workspace: the checkpoints of its experiments, each content counted once, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="Null if only the tenant's limit applies.")


class Storage(Resource):
    """Storage of the tenant, each content counted once. For a caller who sees only some workspaces, the sum of these workspaces."""

    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="Null if no limit is set.")
    workspaces: list[WorkspaceStorage] = Field(
        default=[],
        description="Workspaces that the caller can see, by name. Contents that several workspaces share count in each; code archives count in none.",
    )


class StorageLimit(Resource):
    """How many bytes a tenant may store."""

    tenant: str
    maximum_bytes: int | None = None


class FileDownload(Resource):
    """One file with a temporary URL that needs no token."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str
    url: str


class Download(Resource):
    """All files of a checkpoint or model version, with their hashes."""

    checkpoint: UUID
    step: int
    files: list[FileDownload]


class Purchase(StrEnum):
    """How a machine is rented: on demand, or as a spot machine, which its provider may reclaim."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Worker(Resource):
    """The worker daemon of one machine. The owners of its runs are not shown."""

    id: str
    pool: str
    state: str = Field(description="ready, draining or lost.")
    slots: int
    used_slots: int
    slot_kind: str | None = None
    isolated_user: bool = Field(
        description="False if trials run as the worker's own user; such a worker must serve one trusted tenant only."
    )
    machine: str | None = Field(
        default=None,
        description="Equal for all workers of one host. Exclusive pools serve one tenant at a time on a host. Null: not reported.",
    )
    isolation: str | None = Field(
        default=None,
        description="Isolation of runs on the worker: sandbox, user (one system user for all runs) or none. Null: not reported yet.",
    )
    isolation_detail: str = Field(default="", description="Limits of the isolation.")
    last_heartbeat_at: datetime
    labels: dict[str, str] = Field(
        default={}, description="Labels from its configuration, such as `rack`: `r7`."
    )
    disabled_slots: list[int] = Field(default=[], description="Slots that get no new runs.")
    trouble: str | None = Field(
        default=None, description="Why the worker starts no new runs now, such as a full disk."
    )


class WorkerPage(Resource):
    """A page of workers by id."""

    items: list[Worker]
    next_cursor: str | None = None


class InstanceRecord(Resource):
    """A machine that the provisioner rented or started."""

    id: UUID
    pool: str
    worker: str
    driver: str
    state: str
    slots: int
    reason: str | None = None
    price_per_hour: float = 0.0
    launched_at: datetime | None = None
    ended_at: datetime | None = None
    kind: str = Field(default="", description="Machine type in the provider's naming.")
    zone: str | None = None
    purchase: Purchase = Purchase.ON_DEMAND
    since: datetime | None = Field(default=None, description="When it entered its current state.")
    cost: float = Field(default=0.0, description="Cost from its launch to its end, or up to now.")


class InstancePage(Resource):
    """A page of instances, newest first."""

    items: list[InstanceRecord]
    next_cursor: str | None = None


class ExpectedStart(Resource):
    """Estimated start of a trial. `earliest` and `latest` bound an 80 % interval."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int = Field(description="Number of ended runs whose durations the estimate is based on.")


class HeldSlots(Resource):
    """Slots of one worker, by number."""

    worker: str
    slots: list[int]


class QueueEntry(Resource):
    """A trial of the caller's tenant that waits for slots or runs."""

    trial: UUID
    trial_number: int
    experiment: UUID
    experiment_number: int
    pool: str
    priority: int
    slots: int = Field(description="Slots that its run holds, or the maximum that it requests.")
    min_slots: int | None = Field(default=None, description="Minimum number of slots.")
    max_slots: int | None = Field(
        default=None, description="Maximum number of slots; above `min_slots` for an elastic trial."
    )
    slot_fraction: float | None = Field(default=None, description="Fraction of a slot, if it shares one.")
    state: str = Field(description="waiting or running.")
    position: int | None = None
    code: str | None = Field(
        default=None,
        description="Stable code of why it waits, such as `waiting_for_slots`.",
    )
    reason: str | None = None
    since: datetime
    held: list[HeldSlots] = Field(default=[], description="Slots that a running trial holds.")
    expected_start: ExpectedStart | None = Field(
        default=None,
        description="Estimate for a waiting trial, if the request sets `starts` and enough runs have ended.",
    )


class QueuePage(Resource):
    """A page of the queue, in queue order."""

    items: list[QueueEntry]
    next_cursor: str | None = None


class Holder(Resource):
    """A run of the caller's tenant that holds slots that a trial waits for."""

    experiment_number: int
    trial_number: int
    slots: int
    slot_fraction: float | None = Field(default=None, description="Fraction of a slot, if it shares one.")
    since: datetime
    leaving: bool = Field(description="True if it was preempted or is ending.")


class Preemption(Resource):
    """Why a trial's run was preempted."""

    run_number: int
    code: str = Field(description="Stable code of the reason, such as `priority`.")
    message: str
    by: str | None = Field(
        default=None, description="The caller's trial that needed the slots, such as `34.1`."
    )


class StartSuggestion(Resource):
    """A change that would let a trial start, according to a scheduling plan."""

    code: str = Field(description="What to change, such as `slots`, `priority` or `pool`.")
    starts: str = Field(description="`now`, or `soon`: once preempted runs have released their slots.")
    message: str
    command: str = Field(description="Command that makes the change.")
    number: int | None = None
    pool: str | None = None


class Explanation(Resource):
    """Explains why a trial waits. Runs of other tenants appear as counts only."""

    trial: UUID
    state: str = Field(description="waiting, running, closed or unknown.")
    code: str = Field(description="Stable code of the reason, such as `waiting_for_slots`.")
    message: str
    facts: JsonObject = {}
    position: int | None = Field(default=None, description="Position in the queue, starting at 1.")
    holders: list[Holder] = Field(
        default=[], description="The caller's runs that hold slots that it waits for: the ten largest."
    )
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = Field(
        default=0, description="Number of runs of other tenants that hold slots that it waits for."
    )
    other_slots: int = 0
    preemption: Preemption | None = Field(
        default=None, description="Set if its current or last run was preempted."
    )
    suggestions: list[StartSuggestion] = Field(default=[], description="Changes that would let it start.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Null if too few runs have ended for an estimate."
    )


class Code(Resource):
    """A stored code archive."""

    sha256: str
    size_bytes: int


class CodeFile(Resource):
    """One file of a code archive."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str


class ExperimentCode(Resource):
    """The code that an experiment runs."""

    sha256: str = Field(description="Hash of the archive.")
    size_bytes: int = Field(description="Size of the compressed archive.")
    unpacked_bytes: int
    files: list[CodeFile] = Field(description="Files, by path.")


class CodeFileText(CodeFile):
    """One file of a code archive with its text."""

    text: str | None = Field(description="Null if the file is not UTF-8 text.")
    is_cut: bool = Field(default=False, description="True if `text` is only the first 192 KiB of the file.")


class Deletion(Resource):
    """The deletion of an experiment, workspace or tenant in all services."""

    id: UUID
    scope: str = Field(description="`experiment`, `workspace` or `tenant`.")
    name: str = Field(description="Name of the target; for an experiment, its number.")
    state: OperationState
    stage: str = Field(
        description="The stage that the deletion waits for: `ending` (running trials end), `registry`, `owners` (searcher and scheduler) or `gateway`; finally `done` or `refused`."
    )
    created_at: datetime
    ended_at: datetime | None = None


class EventKind(StrEnum):
    """Kind of the changed entity."""

    EXPERIMENT = "experiment"
    TRIAL = "trial"
    RUN = "run"
    CHECKPOINT = "checkpoint"
    MODEL = "model"
    VERSION = "version"
    BUDGET = "budget"
    REQUEST = "request"
    LABELS = "labels"


class Event(Resource):
    """A change of an entity of the caller's tenant, with the entity's new state."""

    id: str = Field(description="Send it as `after` or Last-Event-ID to resume after this event.")
    time: datetime
    kind: EventKind
    change: str = Field(description="The change, such as `changed` or `granted`.")
    entity: UUID
    experiment: UUID | None = None
    version: int
    resource: JsonObject = Field(
        description="The owner's message; docs/events.md lists the type per kind. To get the API resource of the entity, use its GET operation."
    )


class MachineEventKind(StrEnum):
    """`instance`: a rented machine changed. `provider`: the available machines of a pool, or the reason why it cannot grow, changed."""

    INSTANCE = "instance"
    PROVIDER = "provider"


class MachineEvent(Resource):
    """A change of a rented machine or a machine pool, with its new state."""

    id: str = Field(description="Send it as `after` or Last-Event-ID to resume after this event.")
    time: datetime
    kind: MachineEventKind
    change: str = Field(description="The change, such as `changed`.")
    pool: str
    version: int
    resource: JsonObject


class ExperimentGrouping(StrEnum):
    """Field to group by, named as in filters."""

    OWNER = "owner"
    WORKSPACE = "workspace"
    PROJECT = "project"
    STATE = "state"
    SEARCHER = "searcher"
    METRIC = "metric"
    LABELS = "labels"


class ExperimentGroup(Resource):
    """The experiments that share a value."""

    value: str | None = Field(description="Null for experiments without a value.")
    count: int = Field(
        description="Number of experiments. An experiment with several labels counts under each."
    )
    states: dict[str, int] = Field(
        description="Number of experiments by state; states without experiments are omitted."
    )


class ExperimentGroupPage(Resource):
    """A page of groups by value; the group without a value comes last."""

    items: list[ExperimentGroup]
    next_cursor: str | None = None


class PlanBasis(StrEnum):
    """Source of learning curves and step times: earlier trials of the same code, or the stated model."""

    EARLIER_TRIALS = "earlier_trials"
    STATED_MODEL = "stated_model"


class PlanRange(Resource):
    """The 80% interval (`low` to `high`) and the median (`middle`) over all simulations."""

    low: float
    middle: float
    high: float


class PlanRung(Resource):
    """How many trials reach a rung of the search."""

    at: float = Field(description="Position of the rung, in units of the search's time metric.")
    trials: PlanRange


class Plan(Resource):
    """The estimated cost and duration of an experiment, from several simulations of its search. Nothing is submitted."""

    on: str = Field(description="Description of the machines.")
    basis: PlanBasis
    earlier_runs: int = Field(
        default=0, description="Number of runs of the same code that the estimate uses."
    )
    earlier_experiments: int = 0
    others_running: int = Field(default=0, description="Requests that hold slots of the pool now.")
    others_waiting: int = Field(default=0, description="Requests that wait for slots of the pool now.")
    futures: int = Field(description="Number of simulations that ran.")
    unit: str = Field(description="Unit of steps: the search's time metric, or `step`.")
    trials: PlanRange
    stopped: PlanRange = Field(description="Number of trials that the search stops early.")
    rungs: list[PlanRung] = Field(default=[], description="Empty for search methods without rungs.")
    steps: PlanRange = Field(description="Steps that all trials train together.")
    slots: float = Field(description="Slots of one trial.")
    step_s: float | None = Field(
        default=None,
        description="Seconds per step. Null: unknown; times, slot-hours and cost are omitted.",
    )
    slot_hours: PlanRange | None = None
    waits_s: PlanRange | None = Field(
        default=None, description="Seconds until the first trial gets its slots."
    )
    took_s: PlanRange | None = Field(default=None, description="Seconds from the submission to the end.")
    price_per_slot_hour: float | None = None
    cost: PlanRange | None = None
    notes: list[str] = Field(default=[], description="Assumptions of the estimate.")
    warnings: list[str] = Field(default=[], description="Warnings that a submission would return.")


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


class ExperimentPage(Resource):
    """A page of experiments, newest first."""

    items: list[Experiment]
    next_cursor: str | None = None


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


class LabelledExperiments(Resource):
    """The changed experiments, by number."""

    items: list[Experiment]


class ExportFormat(StrEnum):
    """`arrow`: Arrow IPC streams; `parquet`: Parquet files. Both use zstd compression."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Export(Resource):
    """An export of an experiment's data. Each file can be read on its own; files are kept for a day."""

    id: UUID
    ready: bool = Field(
        description="False while the files are written: repeat the request with this `id` as `export`."
    )
    rows: int = 0
    files: list[FileDownload] = Field(
        default=[],
        description="Files of metrics have the columns trial (its number), run, group, name, step, time and value, sorted by trial, group, name and "
        "step across all files. Files of the table have the column `trial` (its number), then the requested columns, with rows sorted as requested.",
    )
    next_cursor: str | None = Field(default=None, description="Set if there are more files.")


class HealthState(StrEnum):
    """Overall state of the platform."""

    OK = "ok"
    DEGRADED = "degraded"


class ServiceCheck(Resource):
    """The last result of one health check of one service."""

    service: str
    name: str = Field(description="Name of the check: `bus`, `database`, `outbox`, `leader` or `answers`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why it fails; null while it passes.")
    since: datetime = Field(description="When the check began to pass or to fail.")


class PlatformHealth(Resource):
    """The current state of the platform."""

    state: HealthState
    summary: str | None = Field(
        default=None, description="Effect on users if the platform is degraded, in a sentence."
    )
    since: datetime | None = Field(default=None, description="When the first failing check began to fail.")
    checks: list[ServiceCheck] = Field(
        default=[], description="All checks of all services, for site operators; empty for other callers."
    )
    warnings: list[str] = Field(
        default=[],
        description="Problems that fail no check, for site operators; empty for other callers.",
    )


class Health(Resource):
    """Status and version of the gateway."""

    status: str
    version: str


class Isolation(StrEnum):
    """The isolation of runs on a worker: a sandbox for each run, one system user for all of them, or none."""

    SANDBOX = "sandbox"
    USER = "user"
    NONE = "none"


class JoinToken(Resource):
    """A join token. It is shown only once."""

    token: str
    pool: str
    expires_at: datetime


class WorkerCredentials(Resource):
    """Credentials of a worker. It connects to NATS with this JWT and its own private key."""

    worker: str
    jwt: str
    nats_url: str
    expires_at: datetime
    warning: str | None = Field(default=None, description="Why the pool will not use the worker.")


class LineageKind(StrEnum):
    """Kind of a node in the lineage graph."""

    DATASET = "dataset"
    CODE = "code"
    EXPERIMENT = "experiment"
    TRIAL = "trial"
    CHECKPOINT = "checkpoint"
    VERSION = "version"
    CONSUMER = "consumer"


class LineageNode(Resource):
    """A node of the graph."""

    id: str = Field(description="`kind:id`.")
    kind: LineageKind
    name: str = Field(description="Display name.")
    facts: JsonObject = {}


class LineageEdge(Resource):
    """A relation: `target` was derived from `source`, or used it."""

    source: str
    target: str
    kind: str = Field(description="used, ran, searched, saved, started, registered or consumed.")


class LineageGraph(Resource):
    """An entity, its ancestors and its descendants. The start node comes first."""

    start: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    truncated: bool = Field(default=False, description="True if the graph was too large and is incomplete.")


class LogLine(Resource):
    """A log line of a rank."""

    cursor: str = Field(description="Send it as `after` to resume after this line.")
    trial: UUID
    trial_number: int
    experiment_number: int | None = Field(default=None, description="Set in searches across experiments.")
    run: int
    rank: int
    stream: str = Field(description="stdout, stderr or platform.")
    level: str | None = None
    time: datetime
    text: str


class LogPage(Resource):
    """A page of log lines, oldest first; for an experiment, trial by trial."""

    items: list[LogLine]
    next_cursor: str | None = None


class LogStream(StrEnum):
    """Source of a line: standard output or error of a rank, or the platform."""

    STDOUT = "stdout"
    STDERR = "stderr"
    PLATFORM = "platform"


class LogLevel(StrEnum):
    """Log level, as parsed from the beginning of the line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LongOperation(Resource):
    """A long operation, whose request was answered before its outcome was known. It can be read for 24 hours."""

    id: UUID
    operation: str = Field(description="Name of the requested operation, such as `PauseExperiment`.")
    state: OperationState
    created_at: datetime
    result: JsonObject | None = Field(
        default=None, description="For `done`: the resource that the request would have returned."
    )
    code: str | None = Field(default=None, description="For `refused`: the stable error code.")
    message: str | None = Field(default=None, description="For `refused`: the error message.")
    hint: str | None = None
    waiting: str | None = Field(
        default=None,
        description="Set while the operation is stored but not sent, because the message bus accepts no messages.",
    )


class LongOperationPage(Resource):
    """A page of operations, newest first."""

    items: list[LongOperation]
    next_cursor: str | None = None


class OfferOrder(StrEnum):
    """Which machine types to rent first: the cheapest, or in the given order."""

    CHEAPEST = "cheapest"
    GIVEN = "given"


class MachineOffer(Resource):
    """A machine type that can be rented, with its location and price."""

    kind: str
    provider: str
    zone: str | None = None
    purchase: Purchase
    slots: int
    slot_kind: str
    gpu: str | None = None
    memory_gib: float | None = Field(
        default=None, description="Memory of one GPU, or of the machine if it has none."
    )
    price_per_hour: float | None = Field(default=None, description="Null if the price is unknown.")
    priced_on: str | None = Field(default=None, description="Day of the price, such as 2026-11-22.")
    held: str | None = Field(
        default=None, description="Why no such machine is requested before `held_until`."
    )
    held_until: datetime | None = None


class MachinePool(Resource):
    """A pool of rented machines."""

    name: str
    of_settings: bool = Field(description="True if the provisioner's settings define it; change it there.")
    closing: bool = Field(description="True if it is being deleted; it disappears with its last machine.")
    kinds: list[str] = []
    zones: list[str] = []
    order: OfferOrder = OfferOrder.CHEAPEST
    minimum: int
    maximum: int
    maximum_slots: int | None = None
    reserve_slots: int = 0
    spot_share: float = 0.0
    on_demand_slots: int = 0
    falls_back: bool = True
    moves_runs: bool = True
    batching_window_s: float = 0.0
    idle_timeout_s: float | None = None
    join_timeout_s: float | None = None
    budget_per_month: float | None = None
    labels: dict[str, str] = {}
    instances: int = Field(description="Number of machines that run or are being launched.")
    spent: float | None = Field(
        default=None, description="Amount spent this month, in UTC; only site operators see it."
    )
    fault: str | None = Field(default=None, description="Why the pool cannot grow as needed.")
    offers: list[MachineOffer] = []


class MachinePools(Resource):
    """All pools of rented machines, by name."""

    items: list[MachinePool]


class MachineKinds(Resource):
    """The machine types that can be rented."""

    items: list[MachineOffer]


class MachineCost(Resource):
    """Cost of the machines of one kind in a pool on one day."""

    day: str
    pool: str
    kind: str
    purchase: Purchase
    instances: int
    hours: float
    cost: float


class MachineCosts(Resource):
    """The ledger of rented machines, by day, pool, kind and purchase."""

    items: list[MachineCost]


class CostKey(StrEnum):
    """Key to group costs by."""

    DAY = "day"
    POOL = "pool"
    TENANT = "tenant"
    EXPERIMENT = "experiment"


class CostShare(Resource):
    """Cost of rented machines for one combination of the requested keys."""

    day: str | None = Field(default=None, description="Day in UTC, such as 2026-11-22.")
    pool: str | None = None
    tenant: str | None = None
    experiment: int | None = Field(default=None, description="Number of the experiment.")
    experiment_name: str | None = None
    idle: bool = Field(default=False, description="True for provisioned slots without an allocation.")
    slot_hours: float
    cost: float = Field(
        description="Share of the pool's cost per day: its slot-hours in proportion to all provisioned slot-hours."
    )


class CostShares(Resource):
    """Cost of rented machines by slot usage. The shares of all tenants and of idle slots add up to the ledger."""

    since: str
    until: str
    by: list[CostKey]
    items: list[CostShare]
    cost: float = Field(description="Sum of all items.")


class MediaKind(StrEnum):
    """Kind of media. `events`: chunks of TensorBoard event files."""

    IMAGE = "image"
    TABLE = "table"
    TEXT = "text"
    HISTOGRAM = "histogram"
    EVENTS = "events"


class MediaItem(Resource):
    """An image, table, text or histogram of a trial, or a chunk of an event file. Its content is `size_bytes` bytes of `url`, starting at `offset`."""

    id: str
    kind: MediaKind
    group: str
    name: str = Field(description="Name as logged; for `events`, the path of the file.")
    step: int = Field(description="Training step; for `events`, the byte offset of the chunk in the file.")
    run: int
    time: datetime
    content_type: str
    size_bytes: int
    sha256: str
    url: str = Field(
        description="Temporary URL. Read it with `Range: bytes=offset-(offset + size_bytes - 1)`."
    )
    offset: int
    about: JsonObject = Field(
        default={}, description="Metadata such as the size and caption of an image, or the rows of a table."
    )


class MediaPage(Resource):
    """A page of media in the order in which they were stored."""

    items: list[MediaItem]
    next_cursor: str | None = None


class MediaContent(Resource):
    """Content of a media item, for clients that cannot reach the object store."""

    id: str
    kind: MediaKind
    content_type: str
    size_bytes: int
    sha256: str
    base64: str


class MediaName(Resource):
    """Summary of the media of one kind, group and name."""

    kind: MediaKind
    group: str
    name: str
    count: int
    size_bytes: int
    first_step: int
    last_step: int


class MediaNamePage(Resource):
    """A page of names, by kind, group and name."""

    items: list[MediaName]
    next_cursor: str | None = None


class MetricPoint(Resource):
    """A value at a step."""

    step: int
    time: datetime
    run: int
    value: float | None = Field(description="Null if it is NaN or infinite.")
    not_finite: NotFinite | None = Field(
        default=None,
        description="The value if it is NaN or infinite; absent otherwise.",
    )


class MetricSeries(Resource):
    """Points of a metric by step, without superseded points of earlier runs."""

    group: str = Field(description="training, validation or a custom group.")
    name: str
    count: int = Field(
        description="Number of stored points; `points` has fewer if they were thinned to `max_points`."
    )
    points: list[MetricPoint]


class TrialMetrics(Resource):
    """The metrics of one trial."""

    trial: UUID
    series: list[MetricSeries]


class ReportedValue(Resource):
    """A metric value that a trial reported."""

    cursor: str = Field(description="Send it as `after` or Last-Event-ID to resume after this value.")
    trial: UUID
    trial_number: int | None = None
    run: int
    group: str
    name: str
    step: int
    time: datetime
    value: float | None = Field(description="Null if it is NaN or infinite.")
    not_finite: NotFinite | None = Field(
        default=None,
        description="The value if it is NaN or infinite; absent otherwise.",
    )


class ExperimentMetrics(Resource):
    """Metrics of several trials of one experiment."""

    trials: list[TrialMetrics]


class MetricSummary(Resource):
    """Summary statistics of a metric."""

    group: str
    name: str
    count: int
    min: float | None
    max: float | None
    mean: float | None
    last: float | None = Field(description="Last value; null if it is NaN or infinite.")
    last_not_finite: NotFinite | None = Field(
        default=None, description="The last value if it is NaN or infinite."
    )
    last_step: int


class MetricSummaries(Resource):
    """Summary statistics of all metrics of a trial."""

    trial: UUID
    metrics: list[MetricSummary]


class Tensor(Resource):
    """An input or output of a model."""

    name: Annotated[str, Field(max_length=200)]
    dtype: Annotated[str, Field(max_length=50, description="Data type as in NumPy: float32, int64, str.")]
    shape: Annotated[
        list[Annotated[int, Field(ge=-1)]], Field(max_length=16, description="Shape; -1 stands for any size.")
    ] = []


class Signature(Resource):
    """Inputs and outputs of a model."""

    inputs: Annotated[list[Tensor], Field(max_length=100)] = []
    outputs: Annotated[list[Tensor], Field(max_length=100)] = []


class DatasetReference(Resource):
    """A dataset from the `data` section of an experiment's config."""

    name: str
    version: str | None = None
    hash: str | None = None


class ModelLineage(Resource):
    """Origin of a version."""

    experiment: UUID
    trial: UUID
    run: UUID
    checkpoint: UUID
    step: int
    code_sha256: str | None = None
    hyperparameters: JsonObject
    metrics: dict[str, float]
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Metrics whose value is NaN or infinite, with that value."
    )
    datasets: list[DatasetReference] = []
    start_checkpoint: UUID | None = None
    image: str | None = Field(
        default=None, description="Image of the container that the run trained in, with its digest."
    )


class StageApproval(Resource):
    """A user's approval of a stage change."""

    by: str
    at: datetime
    reason: str = ""


class ModelStage(StrEnum):
    """Stage of a version. Only versions in staging can move to production."""

    NONE = "none"
    CANDIDATE = "candidate"
    STAGING = "staging"
    PRODUCTION = "production"
    ARCHIVED = "archived"


class PendingStage(Resource):
    """A stage change that waits for approvals."""

    stage: ModelStage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int = Field(description="Number of approvals required.")
    approvals: list[StageApproval] = []


class StageChange(Resource):
    """A past stage change."""

    stage: ModelStage
    by: str
    at: datetime
    reason: str = ""
    approvals: list[StageApproval] = []


class ModelVersion(Resource):
    """A registered checkpoint with its lineage. Its content never changes."""

    id: UUID
    model: UUID
    model_name: str
    number: int
    name: str = ""
    comment: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    signature: Signature | None = None
    stage: ModelStage = ModelStage.NONE
    pending: PendingStage | None = Field(default=None, description="Stage change that waits for approvals.")
    stages: list[StageChange] = Field(default=[], description="Past stage changes, oldest first.")
    checkpoint: UUID
    lineage: ModelLineage
    files: int
    size_bytes: int
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int


class ModelVersionPage(Resource):
    """A page of versions, newest first."""

    items: list[ModelVersion]
    next_cursor: str | None = None


class Difference(Resource):
    """A property that differs; null if a version does not have it."""

    what: str = Field(description="metric, hyperparameter, file, dataset, code, signature, size or step.")
    name: str
    base: JsonValue = None
    other: JsonValue = None


class ModelComparison(Resource):
    """Differences between two versions of a model, by kind and name."""

    base: ModelVersion
    other: ModelVersion
    differences: list[Difference]


class Model(Resource):
    """A registered model: a named series of versions."""

    id: UUID
    name: str
    workspace: str
    description: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    approvals: dict[str, int] = Field(
        default={}, description="Number of approvals that a version needs to enter a stage."
    )
    versions: int = Field(
        default=0,
        description="Number of versions created so far, which is also the number of the newest.",
    )
    aliases: dict[str, int] = Field(default={}, description="Version numbers by alias, such as `champion`.")
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int = Field(description="Increases with every change of this model.")


class ModelPage(Resource):
    """A page of models by name."""

    items: list[Model]
    next_cursor: str | None = None


class Done(Resource):
    """An empty response."""


class ConfigPolicy(Resource):
    """Limits and overrides for experiment configs. They apply when an experiment is submitted, and when its priority or slots change."""

    workspace: str | None = Field(default=None, description="Null: the policy applies to the whole tenant.")
    invariant_config: JsonObject = Field(
        default={},
        description="Config values that override the submitted ones. The tenant's policy takes precedence over a workspace's.",
    )
    max_slots: int | None = Field(
        default=None,
        description="Maximum slots of an experiment, and the default where a config sets no `max_slots`.",
    )
    priority_limit: int | None = Field(
        default=None,
        description="Most urgent (lowest) priority allowed, and the default where a config sets no priority.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Name of the user or token that set the policy.")
    warnings: list[str] = Field(default=[], description="Warnings about a policy that was just set.")


class ConfigPolicies(Resource):
    """The tenant's policy first, then the policies of its workspaces by name."""

    items: list[ConfigPolicy]


class Template(Resource):
    """A named partial config. Configs that are submitted with the template are merged over it."""

    name: str
    workspace: str | None = Field(
        default=None, description="Workspace that the template belongs to. Null: the whole tenant."
    )
    description: str = ""
    config: JsonObject
    changed_at: datetime
    by: str = Field(description="Name of the user or token that changed it last.")


class TemplatePage(Resource):
    """Templates by name."""

    items: list[Template]
    next_cursor: str | None = None


class PoolOrder(StrEnum):
    """Queue order: by submission time, by priority, or by least use relative to the fair share."""

    FIFO = "fifo"
    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"


class PoolPlacement(StrEnum):
    """Machine for work that fits on one machine: the fullest with enough free slots, or the emptiest."""

    BEST_FIT = "best_fit"
    SPREAD = "spread"


class PoolRules(Resource):
    """Scheduling rules of a pool."""

    order: PoolOrder
    preemption: bool = Field(description="Waiting requests may preempt runs that rank below them.")
    elastic: bool = Field(description="Elastic runs get idle slots on top of their minimum.")
    default_priority: int = Field(
        description="Priority of experiments that set none, from 1 (most urgent) to 99 (least urgent)."
    )
    ageing_s: float | None = Field(
        default=None,
        description="Seconds of waiting that raise a request by one priority level. Null: no ageing.",
    )
    half_life_s: float = Field(description="Half-life of past usage under fair share, in seconds.")
    min_run_s: float = Field(description="Seconds that a run holds its slots before it can be preempted.")
    max_preemptions: int | None = Field(
        default=None,
        description="Maximum number of times that a trial is preempted. Null: no limit.",
    )
    quantum_s: float | None = Field(
        default=None,
        description="Length of a time slice, in seconds. After it, a run that has saved a checkpoint yields its slots to an experiment of the same rank. Null: no time slicing.",
    )
    defragment: bool = Field(
        default=False, description="Move runs so that enough free slots come together for a waiting request."
    )
    topology: list[str] = Field(
        default=[],
        description="Label keys of placement domains, from narrow to wide, such as rack and zone. Gangs are placed within one domain where possible.",
    )
    placement: PoolPlacement = Field(
        default=PoolPlacement.BEST_FIT,
        description="How the scheduler chooses among machines with enough free slots.",
    )
    trusted: bool = Field(
        default=False,
        description="The pool serves one tenant only, and its workers need no sandbox. A pool that is not trusted does not use workers that cannot isolate runs.",
    )
    tenant: UUID | None = Field(
        default=None,
        description="Id of the only tenant of a trusted pool. Null: the pool serves all tenants.",
    )


class Pool(Resource):
    """A set of workers with common scheduling rules."""

    name: str
    slot_kind: str | None = None
    workers: int = Field(description="Workers that accept work, and draining workers that still hold runs.")
    slots: int = Field(
        description="Slots of the workers. For a draining worker, only the slots that runs still hold count."
    )
    used_slots: int
    waiting_slots: int
    max_slots: int | None = Field(default=None, description="Slots that the pool can grow to. Null: unknown.")
    preemption: bool
    exclusive: bool = Field(description="Each machine runs work of one tenant at a time.")
    rules: PoolRules


class PoolPage(Resource):
    """A page of pools by name."""

    items: list[Pool]
    next_cursor: str | None = None


class Limit(Resource):
    """Slots that a tenant or a workspace may use in a pool."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="Null: the limit applies to the whole tenant.")
    guaranteed: int = Field(
        description="Guaranteed slots. In pools with preemption, the scheduler reclaims them from borrowers on demand. Slots beyond the guarantee are borrowed."
    )
    maximum: int | None = Field(default=None, description="Maximum slots. Null: all free slots.")
    weight: float = Field(
        description="Weight under fair share, relative to other tenants, or to other workspaces of the tenant."
    )
    warnings: list[str] = Field(default=[], description="Warnings about a limit that was just set.")


class LimitPage(Resource):
    """A page of limits by pool, tenant and workspace."""

    items: list[Limit]
    next_cursor: str | None = None


class WorkQuota(Resource):
    """Limits on open experiments, on requests per second and, for a workspace, on stored bytes. Null means no limit."""

    tenant: str
    workspace: str | None = Field(default=None, description="Null: the quota applies to the whole tenant.")
    max_experiments: int | None = Field(
        default=None,
        description="Maximum number of experiments that are submitted and not over, running or not.",
    )
    requests_per_s: float | None = Field(
        default=None,
        description="Maximum requests per second. Bursts of up to twice the rate are allowed. A workspace's limit counts the callers whose roles are all in that workspace.",
    )
    max_stored_bytes: int | None = Field(
        default=None,
        description="Maximum bytes of a workspace's checkpoints and media; identical content counts once. For a tenant, the storage limit applies instead.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Name of the user or token that set the quota.")
    warnings: list[str] = Field(default=[], description="Warnings about a quota that was just set.")


class WorkQuotas(Resource):
    """Quotas by tenant: the tenant's own first, then those of its workspaces by name."""

    items: list[WorkQuota]


class Reservation(Resource):
    """Slots that only their holder can use, from `begins_at` until `ends_at`."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="Null: the holder is the whole tenant.")
    slots: int
    begins_at: datetime
    ends_at: datetime
    held_slots: int = Field(description="Reserved slots that the holder's runs use now, during the window.")
    warnings: list[str] = Field(default=[], description="Warnings about a reservation that was just created.")


class ReservationPage(Resource):
    """A page of current and future reservations, by start time."""

    items: list[Reservation]
    next_cursor: str | None = None


class RetentionRule(Resource):
    """The retention rule of a tenant or a workspace. Null fields set no rule. Summaries of metrics are always kept."""

    workspace: str | None = Field(default=None, description="Null: the rule applies to the whole tenant.")
    metric_detail_days: int | None = Field(
        default=None, description="Days after which a metric series is thinned to a sixteenth of its points."
    )
    metric_retention_days: int | None = Field(
        default=None, description="Days after which the points of a metric series are deleted."
    )
    log_retention_days: int | None = Field(
        default=None, description="Days after which log lines are deleted."
    )
    warnings: list[str] = []


class RetentionRules(Resource):
    """The tenant's rule first, then the rules of its workspaces by name."""

    items: list[RetentionRule]


class RoleDefinition(Resource):
    """A named set of permissions: a built-in role or a custom role of the tenant."""

    name: str
    description: str
    permissions: list[str]
    built_in: bool
    tenant_only: bool = Field(
        description="True if the role has permissions that apply to the whole tenant only. Such a role cannot be granted on a workspace."
    )


class RolePage(Resource):
    """All roles, built-in roles first."""

    items: list[RoleDefinition]
    next_cursor: str | None = None


class RoleBinding(Resource):
    """A role that is granted to a user or a group."""

    id: UUID
    role: str
    user: str | None = None
    group: str | None = None
    workspace: str | None = Field(default=None, description="Null: the role applies to the whole tenant.")
    project: str | None = Field(default=None, description="Null: the role applies to the whole workspace.")
    created_at: datetime
    by: str = Field(description="Name of the user or token that granted the role.")


class RoleBindingPage(Resource):
    """A page of role bindings."""

    items: list[RoleBinding]
    next_cursor: str | None = None


class Tenant(Resource):
    """A tenant, such as a company or a department. Tenants cannot see each other's data."""

    id: UUID
    name: str
    created_at: datetime


class TenantPage(Resource):
    """A page of tenants by name."""

    items: list[Tenant]
    next_cursor: str | None = None


class CreatedTenant(Tenant):
    """A tenant with the secret of its admin account. Only this response contains the secret; use it to create other tokens."""

    secret: str
    expires_at: datetime


class SavedView(Resource):
    """A named address of the dashboard, such as a list with its filter, order and columns."""

    name: str
    address: str = Field(description="Path and query within the dashboard, such as `/experiments?filter=…`.")
    saved_at: datetime


class SavedViews(Resource):
    """The caller's saved views, by name."""

    items: list[SavedView]


class SearchVerb(StrEnum):
    """Kind of an operation on a custom search."""

    CREATE = "create"
    GO_ON = "go_on"
    STOP = "stop"
    PROGRESS = "progress"
    SHUTDOWN = "shutdown"
    FAIL = "fail"


class DrivenSearch(Resource):
    """The driver of a custom search and its progress through the events."""

    experiment: UUID
    experiment_number: int
    driver: str | None = Field(default=None, description="The program that sent the last request.")
    seen_at: datetime | None = Field(default=None, description="Time of its last request.")
    acknowledged: int = Field(default=0, description="Number of the last acknowledged event.")
    waiting: int = Field(default=0, description="Number of events that are not acknowledged, up to 500.")
    waiting_since: datetime | None = Field(default=None, description="Time of the oldest of these events.")


class SearchEventKind(StrEnum):
    """Kind of an event of a trial."""

    CREATED = "created"
    VALIDATION = "validation"
    ENDED = "ended"


class SearchEvent(Resource):
    """An event of a trial, for the program that drives the search."""

    number: int = Field(
        description="Increasing number. Simultaneous events have the same number and are acknowledged together."
    )
    time: datetime
    kind: SearchEventKind
    key: str = Field(description="The program's name of the trial.")
    trial: UUID | None = Field(default=None, description="Null for a trial that ended before it started.")
    trial_number: int | None = None
    hyperparameters: JsonObject | None = Field(default=None, description="For `created`.")
    at: float | None = Field(
        default=None, description="For `validation`: progress of the trial, in units of the time metric."
    )
    value: float | None = Field(
        default=None,
        description="The search's metric: for `validation` its value, for `ended` the trial's best. Null if it is not finite or the trial is invalid.",
    )
    others: dict[str, float] = Field(
        default={}, description="Values of the other metrics that the config's `metrics` and `limits` name."
    )
    state: str | None = Field(
        default=None, description="For `ended`: completed, stopped, error, cancelled or invalid."
    )
    reason: str | None = Field(default=None, description="For `ended`: the reason, if there is one.")


class SearchEventPage(Resource):
    """Events of a search, oldest first."""

    items: list[SearchEvent]
    after: int = Field(description="Pass this number as `after` to get the next events.")
    acknowledged: int
    over: bool = Field(description="True if the experiment has ended and these are its last events.")


class SignInLink(Resource):
    """A single-use sign-in link. Only this response contains its code."""

    id: UUID
    path: str = Field(
        description="Path to open at the platform's address. The code follows a `#`, so browsers do not send it to any server."
    )
    secret: str = Field(description="The code that the page exchanges for a session.")
    expires_at: datetime


class SignInProvider(Resource):
    """An OpenID Connect provider that the sign-in page shows."""

    name: str = Field(description="Value of `provider` in `GET /v1/sign-in`.")
    label: str


class SignInWays(Resource):
    """The ways to sign in that unauthenticated clients can see. Providers without a label are not listed; users must know their names."""

    passwords: bool = Field(description="True if the site accepts passwords.")
    providers: list[SignInProvider]


class StartedSignIn(Resource):
    """A started sign-in: the provider's page for the browser, and the ticket that finishes the sign-in."""

    url: str
    ticket: str = Field(description="Secret of the client that started the sign-in. `FinishSignIn` needs it.")
    state: str = Field(
        description="Value that the redirect must contain. Check it before you send the code to `FinishSignIn`."
    )
    expires_at: datetime


class Session(Resource):
    """A session of a user, without its secret."""

    id: UUID
    via: str = Field(description="`password`, `token`, `link`, or the name of the provider.")
    address: str = Field(description="IP address of the sign-in.")
    created_at: datetime
    used_at: datetime = Field(description="Time of the last use, to the minute.")
    expires_at: datetime = Field(description="Latest end of the session. An unused session ends earlier.")
    current: bool = Field(default=False, description="True if this request uses the session.")


class CreatedSession(Session):
    """A session with its secret. Only this response contains the secret; send it as `Authorization: Bearer mss_…`."""

    secret: str = Field(description="Empty if the browser gets the secret in a cookie.")
    user: str
    tenant: str


class SessionPage(Resource):
    """A page of active sessions, newest first."""

    items: list[Session]
    next_cursor: str | None = None


class SessionsEnded(Resource):
    """Result of ending a user's sessions."""

    ended: int = Field(description="Number of sessions that were ended.")


class Identity(Resource):
    """A link between a user and a subject of a provider."""

    id: UUID
    issuer: str
    subject: str
    created_at: datetime


class IdentityList(Resource):
    """The linked identities of a user, oldest first."""

    items: list[Identity]
    next_cursor: str | None = None


class Role(StrEnum):
    """Roles of tokens without a user. Users can have any role, also custom ones (`RoleDefinition`)."""

    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"
    OPERATOR = "operator"


class HeldRole(Resource):
    """A role of the caller, and the scope that it applies to."""

    role: str
    workspace: str | None = Field(default=None, description="Null: the role applies to the whole tenant.")
    project: str | None = Field(default=None, description="Null: the role applies to the whole workspace.")


class Me(Resource):
    """The caller's identity, roles and permissions."""

    tenant: UUID
    tenant_name: str
    token: UUID
    name: str
    role: Role = Field(
        description="The widest of the four basic roles whose permissions the caller holds on the whole tenant, or `viewer`. See `roles` for the actual roles."
    )
    permissions: list[str] = Field(description="Permissions that the caller holds in at least one scope.")
    expires_at: datetime | None = None
    roles: list[HeldRole] = []


class Token(Resource):
    """An access token without its secret."""

    id: UUID
    name: str
    role: Role = Field(
        description="Role of a token without a user. Always `viewer` for a user's token, which has that user's roles instead."
    )
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user: str | None = Field(
        default=None, description="User that the token belongs to. Null: the token has its own role."
    )
    scope: list[str] = Field(
        default=[], description="Limits the token to these permissions of its user. Empty: no limit."
    )


class TokenPage(Resource):
    """A page of tokens, newest first."""

    items: list[Token]
    next_cursor: str | None = None


class CreatedToken(Token):
    """A token with its secret. Only this response contains the secret."""

    secret: str


class PhaseKind(StrEnum):
    """The main phases are `queued` or `parked`, `preparing`, `starting` and `training`, in this order. `running` covers a whole run whose worker reported no phases. All other phases lie within a main phase."""

    QUEUED = "queued"
    PARKED = "parked"
    PREPARING = "preparing"
    FETCHING_CODE = "fetching_code"
    MAKING_ENVIRONMENT = "making_environment"
    RESTORING = "restoring"
    STARTING = "starting"
    TRAINING = "training"
    FIRST_STEP = "first_step"
    WRITING_CHECKPOINT = "writing_checkpoint"
    UPLOADING_CHECKPOINT = "uploading_checkpoint"
    RUNNING = "running"


class Phase(Resource):
    """A phase of a trial. Of the checkpoint phases, only the first of each run and those of one second or more are listed."""

    kind: PhaseKind
    run: int | None = Field(default=None, description="Number of the run. Null while the trial waits.")
    began_at: datetime
    ended_at: datetime | None = Field(default=None, description="Null while the phase continues.")
    within: PhaseKind | None = Field(default=None, description="The main phase that contains this phase.")
    step: int | None = Field(default=None, description="Step of the checkpoint, for checkpoint phases.")
    reason: str | None = Field(
        default=None, description="Why the last attempt to upload failed. The upload is retried."
    )
    image: str | None = Field(
        default=None, description="Image that was pulled for the run's container, with its digest."
    )


class WaitingUploads(Resource):
    """Checkpoints that are still on their machine because their upload fails. Uploads are retried."""

    checkpoints: int = Field(description="Number of waiting checkpoints.")
    since: datetime = Field(description="When the script saved the oldest of them.")
    reason: str = Field(description="Why the last attempt to upload the oldest of them failed.")


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


class TrialPhases(Resource):
    """The phases of one trial. Each main phase comes before the phases within it."""

    trial: UUID
    trial_number: int
    state: TrialState
    phases: list[Phase]
    waiting_uploads: WaitingUploads | None = Field(
        default=None, description="Null if no checkpoint upload is failing."
    )


class TrialPhasesPage(Resource):
    """A page of trials by number."""

    items: list[TrialPhases]
    next_cursor: str | None = None


class TableRow(Resource):
    """One trial with the values of the requested columns."""

    trial: UUID
    experiment_number: int
    number: int = Field(description="The trial's number within the experiment.")
    state: str | None = None
    values: JsonObject = Field(
        description="Values by column; null if the trial has no such value. Numbers that are not finite are the strings `NaN`, `Infinity` and `-Infinity`."
    )


class TrialTable(Resource):
    """A page of a table of trials."""

    columns: list[str] = Field(description="Names of the columns, in the requested order.")
    items: list[TableRow]
    total: int | None = Field(
        default=None, description="Number of trials that match the filter; on the first page only."
    )
    next_cursor: str | None = None


class TableColumns(Resource):
    """Names of the available columns. Metric columns are listed without their statistic."""

    columns: list[str]
    next_cursor: str | None = Field(
        default=None, description="Cursor of the next page, if there are more names."
    )


class Measured(Resource):
    """The metrics of one validation."""

    step: int
    value: float | None = Field(description="Value of the search's first metric. Null if it is not finite.")
    not_finite: NotFinite | None = Field(
        default=None,
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


class UsageKey(StrEnum):
    """Keys that usage is grouped by."""

    DAY = "day"
    TENANT = "tenant"
    WORKSPACE = "workspace"
    USER = "user"
    EXPERIMENT = "experiment"
    POOL = "pool"


class UsageRow(Resource):
    """Usage of one group, with the requested keys."""

    day: str | None = Field(default=None, description="Day in UTC, such as 2026-11-22.")
    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: int | None = Field(default=None, description="Number of the experiment.")
    experiment_name: str | None = None
    pool: str | None = None
    label: str | None = Field(
        default=None,
        description="Null: no label. The usage of an experiment with several labels is split equally among them.",
    )
    slot_seconds: float = Field(
        description="Counted from each grant until the worker released the slots; slots that are still held count up to now."
    )
    cost: float = Field(
        default=0.0,
        description="Cost of the slots with a known price, at the price when they were granted and in the currency of the prices.",
    )
    unpriced_slot_seconds: float = Field(
        default=0.0, description="Slot-seconds without a known price. `cost` does not include them."
    )


class Usage(Resource):
    """Slot-seconds and cost in a period, exact to the second. Rows are sorted by the keys and add up to the totals."""

    since: datetime
    until: datetime
    by: list[UsageKey]
    by_label: bool = False
    items: list[UsageRow]
    slot_seconds: float = Field(description="Total of all rows.")
    cost: float = Field(default=0.0, description="Total of all rows.")
    unpriced_slot_seconds: float = Field(default=0.0, description="Total of all rows.")


class Secret(Resource):
    """A secret of a workspace, without its value, which cannot be read back."""

    name: str
    workspace: str
    created_at: datetime
    changed_at: datetime = Field(description="When the value was last set.")
    by: str = Field(description="Name of the user or token that last set the value.")


class Secrets(Resource):
    """The secrets of a workspace, by name."""

    items: list[Secret]


class UserKind(StrEnum):
    """A person, or a service account: an account for a program."""

    PERSON = "person"
    SERVICE_ACCOUNT = "service_account"


class User(Resource):
    """A person or a service account of the tenant."""

    id: UUID
    name: str
    kind: UserKind
    display_name: str
    groups: list[str] = Field(description="Names of the groups that the user belongs to.")
    created_at: datetime
    disabled_at: datetime | None = Field(
        default=None,
        description="When the user was disabled; its tokens and sessions are rejected. Null: enabled.",
    )


class UserPage(Resource):
    """A page of users by name."""

    items: list[User]
    next_cursor: str | None = None


class Group(Resource):
    """A group of users; a role granted to the group applies to every member."""

    id: UUID
    name: str
    description: str
    members: int
    created_at: datetime


class GroupPage(Resource):
    """A page of groups by name."""

    items: list[Group]
    next_cursor: str | None = None


class WebhookForm(StrEnum):
    """Format of deliveries: CloudEvents, a Slack message, or an alert for Prometheus Alertmanager."""

    CLOUDEVENTS = "cloudevents"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


class WebhookFilter(StrEnum):
    """A filter of a webhook."""

    EVENTS = "events"
    LABELS = "labels"


class DeliveryState(StrEnum):
    """State of a delivery. `dead`: all attempts failed; the delivery can be replayed."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class Webhook(Resource):
    """A webhook. Its URL may contain a secret, so responses contain only the origin."""

    id: UUID
    name: str
    origin: str = Field(description="Scheme, host and port of the URL.")
    form: WebhookForm
    events: list[str] = Field(
        description="Events to send, such as `experiment.completed` or `trial.*`. Empty: all events."
    )
    labels: list[str] = Field(
        description="Send only events of experiments with at least one of these labels. Empty: no label filter."
    )
    workspace: str | None = Field(default=None, description="Null: events of the whole tenant.")
    project: str | None = None
    enabled: bool
    waiting: int = Field(description="Number of deliveries that are waiting for an attempt or a retry.")
    dead: int = Field(description="Number of deliveries whose attempts all failed.")
    previous_secret_until: datetime | None = Field(
        default=None, description="Until this time, deliveries are also signed with the previous secret."
    )
    created_at: datetime
    by: str = Field(description="Name of the user or token that created the webhook.")


class WebhookPage(Resource):
    """A page of webhooks, oldest first."""

    items: list[Webhook]
    next_cursor: str | None = None


class CreatedWebhook(Webhook):
    """A webhook with the secret that signs its deliveries. Only this response contains the secret."""

    secret: str


class WebhookDelivery(Resource):
    """The delivery of one event to one webhook."""

    id: UUID = Field(description="Value of the header `webhook-id`, the same for every attempt and replay.")
    type: str
    event: str = Field(description="Id of the event: its position in the feed.")
    state: DeliveryState
    attempts: int
    is_test: bool
    status: int | None = Field(default=None, description="HTTP status of the receiver's last answer.")
    error: str | None = Field(default=None, description="Why the last attempt failed.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(default=None, description="Set while the delivery is `waiting`.")
    ended_at: datetime | None = Field(
        default=None, description="When the event was delivered or the last attempt failed."
    )


class WebhookDeliveryPage(Resource):
    """A page of deliveries, newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None = None


class WebhookReplay(Resource):
    """Result of replaying deliveries."""

    deliveries: int = Field(description="Number of deliveries that are sent again.")
