"""What the platform answers. Generated from the gateway's API types by `make gen`: change those."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JsonObject = dict[str, JsonValue]
"""What users own: configs, hyperparameters, metadata."""


class Resource(BaseModel):
    """What a caller is shown; fields of a newer platform are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class AuditOutcome(StrEnum):
    """Whether the caller might."""

    ALLOWED = "allowed"
    DENIED = "denied"


class AuditRecord(Resource):
    """Who did what, or was refused it, from where, and what it changed."""

    sequence: int = Field(description="From 1 on, without a gap.")
    at: datetime
    id: UUID
    actor: str | None = Field(default=None, description="The name of who called; none for an unknown token.")
    user: UUID | None = None
    token: UUID | None = None
    operation: str | None = None
    entity: str | None = Field(default=None, description="What it was about, as `experiment/31`.")
    path: dict[str, str] = Field(default={}, description="What the path named, as it was written.")
    asked: JsonObject | None = Field(default=None, description="What else was asked, without secrets.")
    before: JsonObject | None = None
    after: JsonObject | None = None
    outcome: AuditOutcome
    code: str | None = Field(default=None, description="Why it was denied, or a word on how it went.")
    count: int = Field(default=1, description="How often within a second; more than 1 for denials only.")
    address: str | None = None
    agent: str | None = None
    protocol: str | None = None
    trace_id: str | None = None
    hash: str = Field(description="Of the chain up to and with this record.")


class AuditPage(Resource):
    """Newest first."""

    items: list[AuditRecord]
    next_cursor: str | None = None


class AuditLine(Resource):
    """One record as a line of JSON, with the hash before it and its own."""

    line: str
    cursor: str = Field(description="Its sequence; a stream goes on behind it.")


class AuditHead(Resource):
    """How far a chain reaches; kept elsewhere, it proves later that nothing before it was changed or cut off."""

    tenant: UUID = Field(description="Whose chain it is; the site's has an id too.")
    sequence: int = Field(description="0 where nothing is sealed yet.")
    hash: str


class AuditVerification(Resource):
    """What was found in a part of the chain, every record of which was hashed anew."""

    follows: str | None = Field(
        default=None, description="The hash before the first; none where there is no such record."
    )
    sequence: int = Field(description="The last record that is whole.")
    hash: str | None = Field(default=None, description="Of that record.")
    complete: bool = Field(description="False where more is to be verified behind it.")
    broken_at: int | None = Field(default=None, description="The first record that breaks the chain.")
    broken_by: str | None = None


class WhenSpent(StrEnum):
    """What becomes of running work once a budget is spent: it goes on, or saves and gives its slots back."""

    HOLD = "hold"
    PREEMPT = "preempt"


class MonthlyBudget(Resource):
    """Money in the currency of the pools' prices; months are of UTC. Pools whose machines have no price cost nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    per_month: float | None = Field(default=None, description="None: no budget any more.")
    when_spent: WhenSpent = WhenSpent.HOLD
    spent: float = Field(default=0.0, description="Since `since`, up to now.")
    since: datetime | None = Field(default=None, description="When the month began.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class MonthlyBudgets(Resource):
    """By tenant: its own first, then those of its workspaces by name."""

    items: list[MonthlyBudget]


class BulkAction(StrEnum):
    """What is done with each of them, as the operation on one does it."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    KILL = "kill"
    FINISH = "finish"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


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


class CheckpointState(StrEnum):
    """Whether a checkpoint can be used."""

    UPLOADING = "uploading"
    SAVED = "saved"
    ABANDONED = "abandoned"
    CORRUPT = "corrupt"
    DELETED = "deleted"


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


class ExperimentSelection(Resource):
    """What a filter meets now, and the word by which just these can be acted on."""

    count: int
    sample: list[Experiment] = Field(description="The newest of them, ten at most.")
    selection: str | None = Field(
        default=None,
        description="For the action: good for the caller, for ten minutes, while the filter meets the same. "
        "None where it meets nothing, or more than 500.",
    )
    expires_at: datetime


class OperationState(StrEnum):
    """How far an operation is."""

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"


class BulkItem(Resource):
    """What came of the action on one of them."""

    experiment: UUID
    number: int
    state: OperationState = Field(
        description="done: it is so; refused: it cannot; running: it takes longer than a request waits."
    )
    operation: UUID | None = Field(default=None, description="Where it is running: to be looked at.")
    code: str | None = Field(default=None, description="Where it was refused: the stable word of the reason.")
    message: str | None = None


class BulkOutcome(Resource):
    """What came of the action, by the experiments' numbers."""

    items: list[BulkItem]


class NotFinite(StrEnum):
    """Which of the values it is that JSON has no word for."""

    NAN = "nan"
    INFINITY = "infinity"
    NEGATIVE_INFINITY = "negative_infinity"


class CheckpointFile(Resource):
    """One file of a checkpoint."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str


class Checkpoint(Resource):
    """One checkpoint of a trial; only a saved one can be downloaded."""

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
        default={}, description="Those that were no finite number, and which."
    )
    metadata: JsonObject = {}
    reason: str | None = None
    created_at: datetime
    verified_at: datetime | None = Field(
        default=None,
        description="Since when each of its files is known to be what it was; they are read again by and by.",
    )
    manifest: list[CheckpointFile] = Field(
        default=[], description="Its files, where one checkpoint was asked for."
    )


class CheckpointPage(Resource):
    """A page of checkpoints in the order of their making."""

    items: list[Checkpoint]
    next_cursor: str | None = None


class VerificationAsked(Resource):
    """How much is read now, each file once however many checkpoints share it; `verified_at` or the state `corrupt` tells the outcome."""

    checkpoints: int
    files: int
    size_bytes: int


class RetentionPolicy(Resource):
    """How many checkpoints survive collection; the three sets are united."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Resource):
    """A checkpoint that goes."""

    id: UUID
    trial: UUID
    trial_number: int | None = Field(default=None, description="Within its experiment.")
    step: int
    size_bytes: int


class Collected(Resource):
    """What goes, and what stays for which reason."""

    policy: RetentionPolicy
    dry_run: bool
    count: int
    size_bytes: int = Field(description="Of those that go, as `list` shows them.")
    freed_bytes: int = Field(
        description="What no checkpoint that stays holds too; the store has it for a day longer."
    )
    checkpoints: list[CollectedCheckpoint] = Field(
        default=[], description="The largest 200 of those that go."
    )
    kept: dict[str, int] = Field(default={}, description="How many stay, by reason.")


class WorkspaceStorage(Resource):
    """A workspace's bytes in the store: what checkpoints of its experiments hold, each content once, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="None: as many as the tenant.")


class Storage(Resource):
    """Bytes in the store: the tenant's, each content once, or for who sees some of its workspaces only, what these hold together."""

    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="None: as many as there is room for.")
    workspaces: list[WorkspaceStorage] = Field(
        default=[],
        description="By name, those that the caller sees; what several hold counts in each. The tenant's code counts in none.",
    )


class StorageLimit(Resource):
    """How many bytes a tenant may store."""

    tenant: str
    maximum_bytes: int | None = None


class FileDownload(Resource):
    """One file and where it can be fetched for a short while, without a token."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str
    url: str


class Download(Resource):
    """All files of a checkpoint or model version, with hashes to check them by."""

    checkpoint: UUID
    step: int
    files: list[FileDownload]


class Purchase(StrEnum):
    """How a machine is rented: until it is given back, or until its provider takes it back."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Worker(Resource):
    """The daemon on one machine; whose work it holds is not shown."""

    id: str
    pool: str
    state: str = Field(description="ready, draining or lost.")
    slots: int
    used_slots: int
    slot_kind: str | None = None
    isolated_user: bool = Field(
        description="False: trials run as the worker's own user, so it trusts one tenant."
    )
    last_heard: datetime
    labels: dict[str, str] = Field(default={}, description="What its owner says of it, such as `rack`: `r7`.")
    disabled_slots: list[int] = Field(default=[], description="Of its slots, those that take no more work.")
    trouble: str | None = Field(
        default=None, description="Why nothing new begins there now: its disk is full."
    )


class WorkerPage(Resource):
    """A page of workers by id."""

    items: list[Worker]
    next_cursor: str | None = None


class InstanceRecord(Resource):
    """A machine that the provisioner rents or started."""

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
    kind: str = Field(default="", description="As its provider names it.")
    zone: str | None = None
    purchase: Purchase = Purchase.ON_DEMAND
    since: datetime | None = Field(default=None, description="When it came into its state.")
    cost: float = Field(default=0.0, description="From its launch to its end, or up to now.")


class InstancePage(Resource):
    """A page of instances, newest first."""

    items: list[InstanceRecord]
    next_cursor: str | None = None


class ExpectedStart(Resource):
    """When a trial will probably start: in eight of ten cases between `earliest` and `latest`."""

    earliest: datetime
    expected: datetime
    latest: datetime
    runs: int = Field(description="Reckoned from how long so many ended runs held their slots.")


class HeldSlots(Resource):
    """Slots of one worker, by their numbers there."""

    worker: str
    slots: list[int]


class QueueEntry(Resource):
    """One request for slots of the caller's tenant."""

    trial: UUID
    trial_number: int
    experiment: UUID
    experiment_number: int
    pool: str
    priority: int
    slots: int = Field(description="What its run holds, or the most that it waits for.")
    min_slots: int | None = Field(default=None, description="The fewest with which it runs.")
    max_slots: int | None = Field(
        default=None, description="The most; above `min_slots` for an elastic trial."
    )
    slot_part: float | None = Field(
        default=None, description="How much of its slot it takes, where it shares one."
    )
    state: str = Field(description="waiting or running.")
    position: int | None = None
    code: str | None = Field(
        default=None,
        description="A stable word for why it waits, such as `waiting_for_slots`.",
    )
    reason: str | None = None
    since: datetime
    held: list[HeldSlots] = Field(default=[], description="Where a running one has its slots.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Of a waiting one, where `starts` asked for it and it can be told."
    )


class QueuePage(Resource):
    """A page of the queue in the order of service."""

    items: list[QueueEntry]
    next_cursor: str | None = None


class Holder(Resource):
    """A run of the caller's tenant that holds what a trial waits for."""

    experiment_number: int
    trial_number: int
    slots: int
    slot_part: float | None = Field(
        default=None, description="How much of its slot it takes, where it shares one."
    )
    since: datetime
    leaving: bool = Field(description="It was asked to give its slots back, or is ending.")


class GivenBack(Resource):
    """Why a trial's run was asked for its slots."""

    run_number: int
    code: str = Field(description="A stable word, such as `priority`.")
    message: str
    by: str | None = Field(default=None, description="The caller's trial that was to have them: `34.1`.")


class WayOut(Resource):
    """A change with which a trial would start, as a plan has found."""

    code: str = Field(description="What to change: a stable word, such as `slots`, `priority` or `pool`.")
    starts: str = Field(description="`now`, or `soon`: when slots that it may then ask for have come back.")
    message: str
    command: str = Field(description="The command that makes the change.")
    number: int | None = None
    pool: str | None = None


class Explanation(Resource):
    """An answer to "why is my trial waiting"; others' work appears as numbers only."""

    trial: UUID
    state: str = Field(description="waiting, running, closed or unknown.")
    code: str = Field(description="A stable word, such as `waiting_for_slots`.")
    message: str
    facts: JsonObject = {}
    position: int | None = Field(default=None, description="Its place in the queue, from 1.")
    holders: list[Holder] = Field(
        default=[], description="The caller's runs that hold what it waits for: the largest ten."
    )
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = Field(default=0, description="How many runs of other tenants hold what it waits for.")
    other_slots: int = 0
    given_back: GivenBack | None = Field(
        default=None, description="Set when its present or last run was asked for its slots."
    )
    ways_out: list[WayOut] = Field(default=[], description="What would let it start.")
    expected_start: ExpectedStart | None = Field(
        default=None, description="Missing where too few runs have ended to tell."
    )


class Code(Resource):
    """A stored code snapshot."""

    sha256: str
    size_bytes: int


class CodeFile(Resource):
    """One file of a code archive."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str


class ExperimentCode(Resource):
    """The code that an experiment runs."""

    sha256: str = Field(description="Of the archive.")
    size_bytes: int = Field(description="Of the archive as it is stored.")
    unpacked_bytes: int
    files: list[CodeFile] = Field(description="By path.")


class CodeFileText(CodeFile):
    """One file of a code archive with what it says."""

    text: str | None = Field(description="None where it is no text (UTF-8).")
    is_cut: bool = Field(default=False, description="Whether `text` is only the file's first 192 KiB.")


class Deletion(Resource):
    """The deletion of something, which every service takes part in."""

    id: UUID
    scope: str = Field(description="`experiment`, `workspace` or `tenant`.")
    name: str = Field(description="Of an experiment its number.")
    state: OperationState
    stage: str = Field(
        description="What is waited for: `ending` of what trains, `registry`, `owners` (searcher and scheduler), `gateway`; `done`; `refused`."
    )
    created_at: datetime
    ended_at: datetime | None = None


class EventKind(StrEnum):
    """What changed."""

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
    """One change of an entity of the caller's tenant, with its whole state after it."""

    id: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    time: datetime
    kind: EventKind
    change: str = Field(description="A past participle, such as `changed` or `granted`.")
    entity: UUID
    experiment: UUID | None = None
    version: int
    resource: JsonObject = Field(
        description="As its owner told it: the message that docs/events.md names for the kind. GET shows the API's resource of the entity."
    )


class MachineEventKind(StrEnum):
    """What changed of what is rented: a machine, or what a pool may rent and what keeps it from growing."""

    INSTANCE = "instance"
    PROVIDER = "provider"


class MachineEvent(Resource):
    """One change of a rented machine or of a pool of them, with its whole state after it."""

    id: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    time: datetime
    kind: MachineEventKind
    change: str = Field(description="A past participle, such as `changed`.")
    pool: str
    version: int
    resource: JsonObject


class ExperimentGrouping(StrEnum):
    """What experiments are gathered by, under its name in filters."""

    OWNER = "owner"
    WORKSPACE = "workspace"
    PROJECT = "project"
    STATE = "state"
    SEARCHER = "searcher"
    METRIC = "metric"
    LABELS = "labels"


class ExperimentGroup(Resource):
    """The experiments that have one value."""

    value: str | None = Field(description="None: of those that have none.")
    count: int = Field(description="An experiment with several labels counts under each.")
    states: dict[str, int] = Field(
        description="How many of them are in which state; states of none are left out."
    )


class ExperimentGroupPage(Resource):
    """A page of groups in the order of their values, that of none last."""

    items: list[ExperimentGroup]
    next_cursor: str | None = None


class PlanBasis(StrEnum):
    """From what learning curves and times come."""

    EARLIER_TRIALS = "earlier_trials"
    STATED_MODEL = "stated_model"


class PlanRange(Resource):
    """In eight of ten futures between `low` and `high`; `middle` is the median."""

    low: float
    middle: float
    high: float


class PlanRung(Resource):
    """How many trials come as far as a rung of the search."""

    at: float = Field(description="In the units of the search's time.")
    trials: PlanRange


class Plan(Resource):
    """What an experiment would come to, by playing its search in several futures. Nothing was submitted."""

    on: str = Field(description="The machines, in words.")
    basis: PlanBasis
    earlier_runs: int = Field(default=0, description="Of how many runs of the same code the answer is made.")
    earlier_experiments: int = 0
    others_running: int = Field(default=0, description="Requests that have slots of the pool now.")
    others_waiting: int = Field(default=0, description="Requests that wait for slots of the pool now.")
    futures: int = Field(description="How often the search was played.")
    unit: str = Field(description="What a step is: the search's time metric, or `step`.")
    trials: PlanRange
    stopped: PlanRange = Field(description="Of the trials: ended by the search before their time.")
    rungs: list[PlanRung] = Field(default=[], description="Empty where the method has none.")
    steps: PlanRange = Field(description="Trained in all.")
    slots: float = Field(description="Of one trial.")
    step_s: float | None = Field(
        default=None,
        description="What a step takes; none: not known, and times, slot-hours and cost are left out.",
    )
    slot_hours: PlanRange | None = None
    waits_s: PlanRange | None = Field(default=None, description="Until the first trial has its slots.")
    took_s: PlanRange | None = Field(default=None, description="From the submission to the end.")
    price_per_slot_hour: float | None = None
    cost: PlanRange | None = None
    notes: list[str] = Field(default=[], description="What the answer takes for granted.")
    warnings: list[str] = Field(default=[], description="What a submission would be warned of.")


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


class ExperimentPage(Resource):
    """A page of experiments, newest first."""

    items: list[Experiment]
    next_cursor: str | None = None


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


class LabelledExperiments(Resource):
    """The experiments as they are now, by number."""

    items: list[Experiment]


class ExportFormat(StrEnum):
    """`arrow`: Arrow IPC streams; `parquet`: Parquet files. Both are compressed by zstd."""

    ARROW = "arrow"
    PARQUET = "parquet"


class Export(Resource):
    """What an experiment has in bulk, in files of which each is whole in itself; kept for a day."""

    id: UUID
    ready: bool = Field(description="Until then ask again, with the id as `export`.")
    rows: int = 0
    files: list[FileDownload] = Field(
        default=[],
        description="Of metrics with the columns trial (its number), run, group, name, step, time, value; by trial, group, name and "
        "step over all files. Of the table with the trial's number as `trial`, then the columns; in the order that was asked for.",
    )
    next_cursor: str | None = Field(default=None, description="There are more files.")


class HealthState(StrEnum):
    """Whether everything works."""

    OK = "ok"
    DEGRADED = "degraded"


class ServiceCheck(Resource):
    """The last result of one health check of one service."""

    service: str
    name: str = Field(description="What is checked: `bus`, `database`, `outbox`, `leader` or `answers`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why it failed; null while it holds.")
    since: datetime = Field(description="When the check began to hold, or to fail.")


class PlatformHealth(Resource):
    """The state of the platform now."""

    state: HealthState
    summary: str | None = Field(
        default=None, description="What a degraded platform means for its users, in a sentence."
    )
    since: datetime | None = Field(default=None, description="When the first failing check began to fail.")
    checks: list[ServiceCheck] = Field(
        default=[], description="Every check of every service, for operators of the site; empty for others."
    )


class Health(Resource):
    """Whether the gateway answers, and which version it is."""

    status: str
    version: str


class JoinToken(Resource):
    """A join token, shown this one time."""

    token: str
    pool: str
    expires_at: datetime


class WorkerCredentials(Resource):
    """A worker's identity: it connects to NATS with this JWT and its own private key."""

    worker: str
    jwt: str
    nats_url: str
    expires_at: datetime


class LineageKind(StrEnum):
    """What stands in the graph."""

    DATASET = "dataset"
    CODE = "code"
    EXPERIMENT = "experiment"
    TRIAL = "trial"
    CHECKPOINT = "checkpoint"
    VERSION = "version"
    CONSUMER = "consumer"


class LineageNode(Resource):
    """One thing of the graph."""

    id: str = Field(description="`kind:id`.")
    kind: LineageKind
    name: str = Field(description="What people call it.")
    facts: JsonObject = {}


class LineageEdge(Resource):
    """`source` came first and had a part in `target`."""

    source: str
    target: str
    kind: str = Field(description="used, ran, searched, saved, started, registered or consumed.")


class LineageGraph(Resource):
    """What a thing came from, and what came of it; nodes with the start first."""

    start: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    truncated: bool = Field(default=False, description="There is more than an answer holds.")


class LogLine(Resource):
    """One line that a rank wrote."""

    cursor: str = Field(description="Give it as `after` to go on behind this line.")
    trial: UUID
    trial_number: int
    experiment_number: int | None = Field(
        default=None, description="Where lines of several experiments were looked for."
    )
    run: int
    rank: int
    stream: str = Field(description="stdout, stderr or platform.")
    level: str | None = None
    time: datetime
    text: str


class LogPage(Resource):
    """A page of log lines, oldest first; of an experiment, trial by trial."""

    items: list[LogLine]
    next_cursor: str | None = None


class LogStream(StrEnum):
    """Who wrote a line: a rank, or the platform about the run."""

    STDOUT = "stdout"
    STDERR = "stderr"
    PLATFORM = "platform"


class LogLevel(StrEnum):
    """How much a line matters, as it says itself in its first words."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LongOperation(Resource):
    """An operation whose request was answered before its outcome was known; it can be looked at for a day."""

    id: UUID
    operation: str = Field(description="What was asked for, such as `PauseExperiment`.")
    state: OperationState
    created_at: datetime
    result: JsonObject | None = Field(
        default=None, description="When it is done: what the request would have been answered with."
    )
    code: str | None = Field(default=None, description="When it was refused: the stable word of the reason.")
    message: str | None = Field(default=None, description="When it was refused: why.")
    hint: str | None = None
    waiting: str | None = Field(
        default=None,
        description="While it runs: that it is stored and not on its way yet, because the message bus accepts no messages.",
    )


class LongOperationPage(Resource):
    """A page of operations, newest first."""

    items: list[LongOperation]
    next_cursor: str | None = None


class OfferOrder(StrEnum):
    """Which machines are rented first: the cheapest, or in the order given."""

    CHEAPEST = "cheapest"
    GIVEN = "given"


class MachineOffer(Resource):
    """A kind of machine as it can be had somewhere."""

    kind: str
    provider: str
    zone: str | None = None
    purchase: Purchase
    slots: int
    slot_kind: str
    gpu: str | None = None
    memory_gib: float | None = Field(default=None, description="Of one GPU, or of a machine without.")
    price_per_hour: float | None = Field(default=None, description="None: nothing is known.")
    priced_on: str | None = Field(default=None, description="The day of the price, as 2026-11-22.")
    held: str | None = Field(default=None, description="Why none is asked for before `held_until`.")
    held_until: datetime | None = None


class MachinePool(Resource):
    """A pool of rented machines."""

    name: str
    of_settings: bool = Field(description="The provisioner's settings define it; it is changed there.")
    closing: bool = Field(description="It goes with its last machine.")
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
    patience_s: float = 0.0
    idle_timeout_s: float | None = None
    join_timeout_s: float | None = None
    budget_per_month: float | None = None
    labels: dict[str, str] = {}
    instances: int = Field(description="Machines that stand or are being made.")
    spent: float | None = Field(
        default=None, description="Since the first of the month, in UTC; who keeps the site sees it."
    )
    fault: str | None = Field(default=None, description="What keeps it from growing as it would.")
    offers: list[MachineOffer] = []


class MachinePools(Resource):
    """All pools of rented machines, by name."""

    items: list[MachinePool]


class MachineKinds(Resource):
    """What can be rented."""

    items: list[MachineOffer]


class MachineCost(Resource):
    """What machines of one kind of a pool have cost on one day."""

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
    """What shares of the cost are added up by."""

    DAY = "day"
    POOL = "pool"
    TENANT = "tenant"
    EXPERIMENT = "experiment"


class CostShare(Resource):
    """What rented machines have cost for one of each key that was asked for."""

    day: str | None = Field(default=None, description="As 2026-11-22, in UTC.")
    pool: str | None = None
    tenant: str | None = None
    experiment: int | None = Field(default=None, description="Its number.")
    experiment_name: str | None = None
    idle: bool = Field(default=False, description="True for what stood and was held by nobody.")
    slot_hours: float
    cost: float = Field(
        description="The slot-hours' part of what the pool's machines have cost on each day, of all slot-hours that stood."
    )


class CostShares(Resource):
    """What rented machines have cost, told apart by who held their slots; of all tenants and idle time the shares add up to the ledger."""

    since: str
    until: str
    by: list[CostKey]
    items: list[CostShare]
    cost: float = Field(description="All of them together.")


class MediaKind(StrEnum):
    """`events`: pieces of the event files that a script writes for TensorBoard."""

    IMAGE = "image"
    TABLE = "table"
    TEXT = "text"
    HISTOGRAM = "histogram"
    EVENTS = "events"


class MediaItem(Resource):
    """One image, table, text or histogram of a trial, or a piece of an event file; its bytes are `size_bytes` of `url` from `offset` on."""

    id: str
    kind: MediaKind
    group: str
    name: str = Field(description="Of `events`, the file's path.")
    step: int = Field(description="Of `events`, at which byte of the file the piece begins.")
    run: int
    time: datetime
    content_type: str
    size_bytes: int
    sha256: str
    url: str = Field(
        description="Read it with `Range: bytes=offset-(offset + size_bytes - 1)`; good for a while."
    )
    offset: int
    about: JsonObject = Field(default={}, description="An image's size and caption, a table's rows.")


class MediaPage(Resource):
    """A page of media in the order in which they were stored."""

    items: list[MediaItem]
    next_cursor: str | None = None


class MediaContent(Resource):
    """The bytes of a piece, for who may ask no other host than this one."""

    id: str
    kind: MediaKind
    content_type: str
    size_bytes: int
    sha256: str
    base64: str


class MediaName(Resource):
    """All media of one kind, group and name."""

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
    """One value at one step."""

    step: int
    time: datetime
    run: int
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
        description="Which it is, where `value` is null; not there otherwise.",
    )


class MetricSeries(Resource):
    """One metric's points in the order of their step; superseded points of older runs are left out."""

    group: str = Field(description="training, validation or a group of the user's own.")
    name: str
    count: int = Field(description="Points stored; fewer are shown when `max_points` thins them.")
    points: list[MetricPoint]


class TrialMetrics(Resource):
    """The metrics of one trial."""

    trial: UUID
    series: list[MetricSeries]


class ReportedValue(Resource):
    """One value that a trial has reported."""

    cursor: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    trial: UUID
    trial_number: int | None = None
    run: int
    group: str
    name: str
    step: int
    time: datetime
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
        description="Which it is, where `value` is null; not there otherwise.",
    )


class ExperimentMetrics(Resource):
    """The metrics of several trials of one experiment."""

    trials: list[TrialMetrics]


class MetricSummary(Resource):
    """One metric in numbers."""

    group: str
    name: str
    count: int
    min: float | None
    max: float | None
    mean: float | None
    last: float | None = Field(description="Null when it is not a finite number.")
    last_not_finite: NotFinite | None = Field(default=None, description="Which it is, where `last` is null.")
    last_step: int


class MetricSummaries(Resource):
    """Every metric of a trial in numbers."""

    trial: UUID
    metrics: list[MetricSummary]


class Tensor(Resource):
    """One input or output of a model."""

    name: Annotated[str, Field(max_length=200)]
    dtype: Annotated[str, Field(max_length=50, description="As numpy says it: float32, int64, str.")]
    shape: Annotated[
        list[Annotated[int, Field(ge=-1)]], Field(max_length=16, description="-1: any size.")
    ] = []


class Signature(Resource):
    """What a model takes and gives."""

    inputs: Annotated[list[Tensor], Field(max_length=100)] = []
    outputs: Annotated[list[Tensor], Field(max_length=100)] = []


class DatasetReference(Resource):
    """Data as an experiment's config states it under `data:`."""

    name: str
    version: str | None = None
    hash: str | None = None


class ModelLineage(Resource):
    """Where a version comes from."""

    experiment: UUID
    trial: UUID
    run: UUID
    checkpoint: UUID
    step: int
    code_sha256: str | None = None
    hyperparameters: JsonObject
    metrics: dict[str, float]
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Those that were no finite number, and which."
    )
    datasets: list[DatasetReference] = []
    start_checkpoint: UUID | None = None


class StageApproval(Resource):
    """One person's yes."""

    by: str
    at: datetime
    reason: str = ""


class ModelStage(StrEnum):
    """How far a version has come; nothing goes into production that was not in staging."""

    NONE = "none"
    CANDIDATE = "candidate"
    STAGING = "staging"
    PRODUCTION = "production"
    ARCHIVED = "archived"


class PendingStage(Resource):
    """A change of stage that waits for approvals."""

    stage: ModelStage
    by: str
    reason: str = ""
    asked_at: datetime
    needed: int = Field(description="How many people must agree.")
    approvals: list[StageApproval] = []


class StageChange(Resource):
    """A stage that a version came to."""

    stage: ModelStage
    by: str
    at: datetime
    reason: str = ""
    approvals: list[StageApproval] = []


class ModelVersion(Resource):
    """A checkpoint that was promoted, with where it comes from. What it is made of never changes."""

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
    pending: PendingStage | None = Field(default=None, description="A change of stage that waits.")
    stages: list[StageChange] = Field(default=[], description="How it came here, oldest first.")
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
    """One thing that is not the same; None where one of the two does not have it."""

    what: str = Field(description="metric, hyperparameter, file, dataset, code, signature, size or step.")
    name: str
    base: JsonValue = None
    other: JsonValue = None


class ModelComparison(Resource):
    """What differs between two versions of a model, by kind and name."""

    base: ModelVersion
    other: ModelVersion
    differences: list[Difference]


class Model(Resource):
    """A named line of versions."""

    id: UUID
    name: str
    workspace: str
    description: str = ""
    notes: str = ""
    tags: list[str] = []
    metadata: JsonObject = {}
    approvals: dict[str, int] = Field(
        default={}, description="How many people must agree before a version comes to a stage."
    )
    versions: int = Field(
        default=0,
        description="How many versions were made; the newest has this number.",
    )
    aliases: dict[str, int] = Field(default={}, description="Names of versions, such as `champion`.")
    owner: str
    created_at: datetime
    changed_by: str | None = None
    version: int = Field(description="Rises with every change of this entry.")


class ModelPage(Resource):
    """A page of models by name."""

    items: list[Model]
    next_cursor: str | None = None


class Done(Resource):
    """The answer of an operation that has nothing to show."""


class ConfigPolicy(Resource):
    """What experiments are held to when they are submitted, and when their part in the queue is changed."""

    workspace: str | None = Field(default=None, description="None: all workspaces of the tenant.")
    invariant_config: JsonObject = Field(
        default={},
        description="A part of a config that is set whatever is submitted; the tenant's wins over a workspace's.",
    )
    max_slots: int | None = Field(
        default=None, description="No experiment may have more; one that names no `max_slots` is given this."
    )
    priority_limit: int | None = Field(
        default=None, description="No priority may be more urgent (lower); one that names none is given this."
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Who set it.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class ConfigPolicies(Resource):
    """The tenant's own policy first, then those of its workspaces by name."""

    items: list[ConfigPolicy]


class Template(Resource):
    """A part of a config, under a name: what is submitted with it is laid over it."""

    name: str
    workspace: str | None = Field(default=None, description="Whose it is; none: the whole tenant's.")
    description: str = ""
    config: JsonObject
    changed_at: datetime
    by: str = Field(description="Who changed it last.")


class TemplatePage(Resource):
    """Templates by name."""

    items: list[Template]
    next_cursor: str | None = None


class PoolOrder(StrEnum):
    """Who goes first: by submission, by priority, or who has had least of its share."""

    FIFO = "fifo"
    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"


class PoolPlacement(StrEnum):
    """What fits on one machine goes to the fullest that will do, or to the emptiest."""

    BEST_FIT = "best_fit"
    SPREAD = "spread"


class PoolRules(Resource):
    """How a pool is shared."""

    order: PoolOrder
    preemption: bool = Field(description="A waiting request may ask for slots of runs that stand below it.")
    elastic: bool = Field(description="Idle slots are lent to runs that take more than their minimum.")
    default_priority: int = Field(description="Of experiments that name none: 1 (first) to 99 (last).")
    ageing_s: float | None = Field(
        default=None, description="Waiting so long counts as one priority level; none: it never does."
    )
    half_life_s: float = Field(description="After this long, past use counts half (fair share).")
    min_run_s: float = Field(description="So long a run is not asked for its slots.")
    max_preemptions: int | None = Field(
        default=None,
        description="So often a trial is asked for its slots at most; none: whenever it must be.",
    )
    quantum_s: float | None = Field(
        default=None,
        description="A run that has had its slots for so long, and has saved a checkpoint, yields them to an experiment of equal right; none: never.",
    )
    defragment: bool = Field(
        default=False, description="Runs are moved so that free slots come together for a waiting request."
    )
    topology: list[str] = Field(
        default=[],
        description="Keys of labels from narrow to wide, such as rack and zone: gangs stay within one domain where they can.",
    )
    placement: PoolPlacement = Field(
        default=PoolPlacement.BEST_FIT, description="Which of the machines that will do is taken."
    )


class Pool(Resource):
    """A set of workers under one policy."""

    name: str
    slot_kind: str | None = None
    workers: int = Field(description="That take work, or hold some although they take no more.")
    slots: int = Field(description="Of machines that take no more work, those that runs still hold.")
    used_slots: int
    waiting_slots: int
    max_slots: int | None = Field(default=None, description="What it can grow to, where that is known.")
    preemption: bool
    exclusive: bool = Field(description="A machine serves one tenant at a time.")
    rules: PoolRules


class PoolPage(Resource):
    """All pools by name."""

    items: list[Pool]
    next_cursor: str | None = None


class Limit(Resource):
    """What a tenant, or a workspace of one, may hold in a pool, in slots."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    guaranteed: int = Field(
        description="Its own: given back on demand in pools with preemption. Beyond is borrowed."
    )
    maximum: int | None = Field(default=None, description="Never more; none: whatever is free.")
    weight: float = Field(description="Its part among its siblings under fair share.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class LimitPage(Resource):
    """Limits by pool, tenant and workspace."""

    items: list[Limit]
    next_cursor: str | None = None


class WorkQuota(Resource):
    """How many experiments may be open at once, how many requests a second may be sent, and of a workspace how many bytes may be stored; null bounds nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    max_experiments: int | None = Field(
        default=None, description="Open at once: submitted and not over, running or not."
    )
    requests_per_s: float | None = Field(
        default=None,
        description="Of a workspace: by those whose roles are all in it. Twice as many may come at once.",
    )
    max_stored_bytes: int | None = Field(
        default=None,
        description="Of a workspace: what its checkpoints and media may take, each content once. A tenant's is its storage limit.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Who set it.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class WorkQuotas(Resource):
    """By tenant: its own first, then those of its workspaces by name."""

    items: list[WorkQuota]


class Reservation(Resource):
    """From `begins_at` on and before `ends_at` these slots serve their holder alone."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    slots: int
    begins_at: datetime
    ends_at: datetime
    held_slots: int = Field(description="What the holder has of them now, while the window lasts.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just made.")


class ReservationPage(Resource):
    """Reservations that are not over, by their begin."""

    items: list[Reservation]
    next_cursor: str | None = None


class RetentionRule(Resource):
    """What a tenant or a workspace of it says; null says nothing. What metrics were summed up to stays in any case."""

    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    metric_detail_days: int | None = Field(
        default=None, description="After so many days a series keeps a sixteenth of its points."
    )
    metric_retention_days: int | None = Field(default=None, description="After so many days its points go.")
    log_retention_days: int | None = Field(default=None, description="After so many days log lines go.")
    warnings: list[str] = []


class RetentionRules(Resource):
    """The tenant's own rule first, then those of its workspaces by name."""

    items: list[RetentionRule]


class RoleDefinition(Resource):
    """A named set of permissions: one that every tenant has, or one that this tenant made."""

    name: str
    description: str
    permissions: list[str]
    built_in: bool
    tenant_only: bool = Field(
        description="It holds what counts on the tenant as a whole, so that it cannot be given on a workspace."
    )


class RolePage(Resource):
    """All roles, those that every tenant has first."""

    items: list[RoleDefinition]
    next_cursor: str | None = None


class RoleBinding(Resource):
    """A role given to a user or a group."""

    id: UUID
    role: str
    user: str | None = None
    group: str | None = None
    workspace: str | None = Field(default=None, description="None: on the tenant as a whole.")
    project: str | None = Field(default=None, description="None: on the workspace as a whole.")
    created_at: datetime
    by: str = Field(description="Who gave it.")


class RoleBindingPage(Resource):
    """A page of what was given."""

    items: list[RoleBinding]
    next_cursor: str | None = None


class Tenant(Resource):
    """A company or department of its own: none sees anything of another."""

    id: UUID
    name: str
    created_at: datetime


class TenantPage(Resource):
    """A page of tenants by name."""

    items: list[Tenant]
    next_cursor: str | None = None


class CreatedTenant(Tenant):
    """A tenant with the secret of its first admin, which is shown this one time; whoever takes the tenant over makes tokens of their own."""

    secret: str
    expires_at: datetime


class SavedView(Resource):
    """A place of the dashboard that its reader has named: a list with its filter, order and columns."""

    name: str
    address: str = Field(description="The place within the dashboard, such as `/experiments?filter=…`.")
    saved_at: datetime


class SavedViews(Resource):
    """The caller's own views, by name."""

    items: list[SavedView]


class SearchVerb(StrEnum):
    """What a program may tell its search."""

    CREATE = "create"
    GO_ON = "go_on"
    STOP = "stop"
    PROGRESS = "progress"
    SHUTDOWN = "shutdown"
    FAIL = "fail"


class DrivenSearch(Resource):
    """Who drives a search, and how far that is."""

    experiment: UUID
    experiment_number: int
    driver: str | None = Field(default=None, description="The program that asked or told last.")
    seen_at: datetime | None = Field(default=None, description="When it did.")
    acknowledged: int = Field(default=0, description="It is done with the events up to this number.")
    waiting: int = Field(default=0, description="How many events it is not done with; 500 stands for more.")
    waiting_since: datetime | None = Field(default=None, description="When the oldest of them happened.")


class SearchEventKind(StrEnum):
    """What happened to a trial."""

    CREATED = "created"
    VALIDATION = "validation"
    ENDED = "ended"


class SearchEvent(Resource):
    """What a program is to know of a trial."""

    number: int = Field(
        description="Rises; events that happened at once share it. Acknowledge all of a number."
    )
    time: datetime
    kind: SearchEventKind
    key: str = Field(description="The program's name of the trial.")
    trial: UUID | None = Field(default=None, description="None for a trial that ended without having begun.")
    trial_number: int | None = None
    hyperparameters: JsonObject | None = Field(default=None, description="Of `created`.")
    at: float | None = Field(default=None, description="Of `validation`: how far it is, in the time metric.")
    value: float | None = Field(
        default=None,
        description="The search's metric: of `validation` there, of `ended` its best. Null where it is no finite number, or the trial was no good.",
    )
    others: dict[str, float] = Field(
        default={}, description="Beside the value: what the config's `metrics` and `limits` name further."
    )
    state: str | None = Field(
        default=None, description="Of `ended`: completed, stopped, error, cancelled, invalid."
    )
    reason: str | None = Field(default=None, description="Of `ended`: why, where there is something to say.")


class SearchEventPage(Resource):
    """Events of a search, oldest first."""

    items: list[SearchEvent]
    after: int = Field(description="There is no other event up to this number: go on behind it.")
    acknowledged: int
    over: bool = Field(description="True when the experiment has ended and these are its last events.")


class SignInLink(Resource):
    """A link that signs a browser in once, shown this one time."""

    id: UUID
    path: str = Field(
        description="Open it at the platform's address. It holds the code behind a `#`, which a browser sends to no server."
    )
    secret: str = Field(description="The code that the page trades for a session.")
    expires_at: datetime


class SignInProvider(Resource):
    """A provider that the site shows to everybody."""

    name: str = Field(description="For `GET /v1/sign-in`.")
    label: str


class SignInWays(Resource):
    """The ways to sign in that a site tells strangers of. A provider without a label is known to those who were told its name."""

    passwords: bool = Field(description="False where the site takes none.")
    providers: list[SignInProvider]


class BegunSignIn(Resource):
    """Where the browser goes, and what is kept from it: who began finishes with the ticket, and nobody else can."""

    url: str
    ticket: str = Field(description="Kept by who began, and shown to nobody.")
    state: str = Field(description="What the browser must bring back: check it before anything is sent on.")
    expires_at: datetime


class Session(Resource):
    """A sign-in of a person, without its secret."""

    id: UUID
    via: str = Field(description="`password`, `token`, `link`, or the provider's name.")
    address: str = Field(description="From where.")
    created_at: datetime
    used_at: datetime = Field(description="To the minute.")
    expires_at: datetime = Field(description="Sooner, when it is not used.")
    current: bool = Field(default=False, description="It is the session that asks.")


class CreatedSession(Session):
    """A session with its secret, which is shown this one time and sent as `Authorization: Bearer mss_…`."""

    secret: str = Field(description="Empty where a browser has it in a cookie.")
    user: str
    tenant: str


class SessionPage(Resource):
    """A page of sessions that count, newest first."""

    items: list[Session]
    next_cursor: str | None = None


class SessionsEnded(Resource):
    """How many sessions were ended."""

    ended: int


class Identity(Resource):
    """Who of a provider a user is."""

    id: UUID
    issuer: str
    subject: str
    created_at: datetime


class IdentityList(Resource):
    """All that a user is known by, oldest first."""

    items: list[Identity]
    next_cursor: str | None = None


class Role(StrEnum):
    """The roles that a token without a user can have; there are more for users, by name (`RoleDefinition`)."""

    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"
    OPERATOR = "operator"


class HeldRole(Resource):
    """A role that the caller has, and where it counts."""

    role: str
    workspace: str | None = Field(default=None, description="None: on the tenant as a whole.")
    project: str | None = Field(default=None, description="None: on the workspace as a whole.")


class Me(Resource):
    """Who the caller is and what the caller may do."""

    tenant: UUID
    tenant_name: str
    token: UUID
    name: str
    role: Role = Field(
        description="The widest of these roles that the caller has on the tenant, or viewer; `roles` says more."
    )
    permissions: list[str] = Field(description="What the caller may do somewhere.")
    expires_at: datetime | None = None
    roles: list[HeldRole] = []


class Token(Resource):
    """An access token without its secret."""

    id: UUID
    name: str
    role: Role = Field(
        description="What it may do; of a user's token it says nothing (`viewer`), that user's roles do."
    )
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user: str | None = Field(default=None, description="Whose it is; none: it has its role itself.")
    scope: list[str] = Field(default=[], description="It is narrowed to these permissions of its user's.")


class TokenPage(Resource):
    """A page of tokens, newest first."""

    items: list[Token]
    next_cursor: str | None = None


class CreatedToken(Token):
    """A token with its secret, which is shown this one time."""

    secret: str


class PhaseKind(StrEnum):
    """`queued` or `parked`, `preparing`, `starting` and `training` follow each other; `running` is all of a run whose worker has told nothing. The others lie within one of these."""

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
    """A stretch of a trial's time. Of checkpoints the first of each run is told, and those that took a second or more."""

    kind: PhaseKind
    run: int | None = Field(default=None, description="None while it waits.")
    began_at: datetime
    ended_at: datetime | None = Field(default=None, description="None while it goes on.")
    within: PhaseKind | None = Field(default=None, description="The phase that it is a part of.")
    step: int | None = Field(default=None, description="Of a checkpoint.")
    reason: str | None = Field(
        default=None, description="Why an upload waits: its last attempt failed, and it is tried again."
    )


class WaitingUploads(Resource):
    """Checkpoints that wait on their machine because their upload fails; it is tried again."""

    checkpoints: int = Field(description="How many wait.")
    since: datetime = Field(description="When the first of them was saved by the script.")
    reason: str = Field(description="Why its last attempt failed.")


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


class TrialPhases(Resource):
    """One trial's phases, each before those within it."""

    trial: UUID
    trial_number: int
    state: TrialState
    phases: list[Phase]
    waiting_uploads: WaitingUploads | None = Field(
        default=None, description="None while no upload has failed for more than a moment."
    )


class TrialPhasesPage(Resource):
    """A page of trials by number."""

    items: list[TrialPhases]
    next_cursor: str | None = None


class TableRow(Resource):
    """One trial with the cells of the columns that were asked for."""

    trial: UUID
    experiment_number: int
    number: int = Field(description="Its number within the experiment.")
    state: str | None = None
    values: JsonObject = Field(
        description="By column; null where the trial has no such value. What is no finite number is a word: `NaN`, `Infinity` or `-Infinity`."
    )


class TrialTable(Resource):
    """A page of a table of trials."""

    columns: list[str] = Field(description="The columns' names, as they were asked for.")
    items: list[TableRow]
    total: int | None = Field(default=None, description="How many trials meet the filter; on the first page.")
    next_cursor: str | None = None


class TableColumns(Resource):
    """What there is to filter, sort and show by; metrics without their stat."""

    columns: list[str]
    next_cursor: str | None = Field(default=None, description="There are more names.")


class Measured(Resource):
    """The search's first metric at one validation."""

    step: int
    value: float | None = Field(description="Null when it is not a finite number.")
    not_finite: NotFinite | None = Field(
        default=None,
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


class UsageKey(StrEnum):
    """What usage is added up by."""

    DAY = "day"
    TENANT = "tenant"
    WORKSPACE = "workspace"
    USER = "user"
    EXPERIMENT = "experiment"
    POOL = "pool"


class UsageRow(Resource):
    """What was used by one of each key that was asked for."""

    day: str | None = Field(default=None, description="As 2026-11-22, in UTC.")
    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: int | None = Field(default=None, description="Its number.")
    experiment_name: str | None = None
    pool: str | None = None
    label: str | None = Field(
        default=None,
        description="None: no label. What several labels used is divided among them in equal parts.",
    )
    slot_seconds: float = Field(
        description="From each grant until the worker had let go; what is held still counts up to now."
    )
    cost: float = Field(
        default=0.0,
        description="Of slots with a known price, as it was at the grant; in the prices' currency.",
    )
    unpriced_slot_seconds: float = Field(
        default=0.0, description="Of slots without a known price: they are in no cost."
    )


class Usage(Resource):
    """Slot-seconds and cost in a period, exact to the second, in the order of the keys; the rows add up to the whole."""

    since: datetime
    until: datetime
    by: list[UsageKey]
    by_label: bool = False
    items: list[UsageRow]
    slot_seconds: float = Field(description="All of them together.")
    cost: float = Field(default=0.0, description="All of them together.")
    unpriced_slot_seconds: float = Field(default=0.0, description="All of them together.")


class UserKind(StrEnum):
    """A person, or a program with an account of its own."""

    PERSON = "person"
    SERVICE_ACCOUNT = "service_account"


class User(Resource):
    """A person or a program of the tenant."""

    id: UUID
    name: str
    kind: UserKind
    display_name: str
    groups: list[str] = Field(description="Names of the groups that it belongs to.")
    created_at: datetime
    disabled_at: datetime | None = Field(default=None, description="Since then none of its tokens counts.")


class UserPage(Resource):
    """A page of users by name."""

    items: list[User]
    next_cursor: str | None = None


class Group(Resource):
    """Users who are given roles together."""

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
    """What is sent: a CloudEvent, a message for Slack, an alert for Prometheus' Alertmanager."""

    CLOUDEVENTS = "cloudevents"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


class WebhookFilter(StrEnum):
    """What narrows a webhook and can be lifted."""

    EVENTS = "events"
    LABELS = "labels"


class DeliveryState(StrEnum):
    """Where a delivery stands; a dead one was given up and can be replayed."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class Webhook(Resource):
    """Where events are sent. Its address may hold a secret, so only its origin is shown."""

    id: UUID
    name: str
    origin: str = Field(description="Scheme, host and port of the address.")
    form: WebhookForm
    events: list[str] = Field(description="Such as `experiment.completed` or `trial.*`; none: all.")
    labels: list[str] = Field(description="Of experiments, of which one is enough; none: whatever they have.")
    workspace: str | None = Field(default=None, description="None: of the tenant as a whole.")
    project: str | None = None
    enabled: bool
    waiting: int = Field(description="Deliveries that are still tried.")
    dead: int = Field(description="Deliveries that were given up.")
    previous_secret_until: datetime | None = Field(
        default=None, description="Until then the secret before the last rotation signs too."
    )
    created_at: datetime
    by: str = Field(description="Who made it.")


class WebhookPage(Resource):
    """A page of webhooks, the oldest first."""

    items: list[Webhook]
    next_cursor: str | None = None


class CreatedWebhook(Webhook):
    """A webhook with the secret that signs what is sent; it is shown this one time."""

    secret: str


class WebhookDelivery(Resource):
    """One event for one webhook."""

    id: UUID = Field(description="As in the header `webhook-id`: the same at each attempt and replay.")
    type: str
    event: str = Field(description="The event's id: its position in the feed.")
    state: DeliveryState
    attempts: int
    is_test: bool
    status: int | None = Field(default=None, description="What the receiver answered at last.")
    error: str | None = Field(default=None, description="Why the last attempt failed.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(default=None, description="While it waits.")
    ended_at: datetime | None = Field(default=None, description="When it was delivered or given up.")


class WebhookDeliveryPage(Resource):
    """A page of deliveries, the newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None = None


class WebhookReplay(Resource):
    """How many deliveries are sent again."""

    deliveries: int
