"""Runs, workers and pools: what the scheduler owns, and what passes between it and the machines."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.base import Command, Event, Query, Record, ToWorker, WorkerRequest
from shared.messages.specs import Member, Signal, SlotKind, TrialSpec

RunOutcome = Literal[
    "completed",
    "stopped",
    "parked",
    "preempted",
    "cancelled",
    "killed",
    "failed",
    "lost",
]
"""How a run ended: `failed` is the user's code, `lost` is machines or the platform."""
RequestOutcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected"]


class RunState(Event):
    """The public state of a run; the chief is the first member. `token` fences: a later run of the trial has a higher one."""

    run_id: RunId
    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    number: int
    request: int = 1
    allocation_id: AllocationId
    token: int
    generation: int = 1
    pool: PoolName
    members: tuple[Member, ...]
    granted_at: datetime


class RunGranted(RunState, entity="run", happened="granted"):
    """scheduler → searcher, registry, gateway."""


class RunResized(RunState, entity="run", happened="resized"):
    """scheduler → searcher, registry, gateway: same token, a higher generation."""


class RunEnded(RunState, entity="run", happened="ended"):
    """scheduler → searcher, registry, gateway. `validations` and `checkpoints` count what the run announced (None: unknown, a lost run)."""

    ended_at: datetime
    outcome: RunOutcome
    acknowledged: Signal | None = None
    validations: int | None = None
    checkpoints: int | None = None
    exit_code: int | None = None
    reason: str | None = None
    charged: bool = False
    restarts: int = 0
    next: Literal["requeued", "closed"]


class RequestClosed(Event, entity="request", happened="closed"):
    """scheduler → searcher: the one end of `trial.wanted` number `request`, even if no run existed."""

    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    request: int
    outcome: RequestOutcome
    runs: int
    reason: str | None = None


class DesiredAllocation(Record):
    """What the worker should have running. `spec` is carried until the worker's reply names the allocation."""

    allocation_id: AllocationId
    run_id: RunId
    run_number: int
    trial_id: TrialId
    experiment_id: ExperimentId
    tenant: UUID
    token: int
    generation: int
    wanted: Signal
    decide_at: float | None = None
    members: tuple[Member, ...]
    rendezvous: str | None = None
    preemption_timeout_s: float = 3600.0
    spec: TrialSpec | None = None
    traceparent: str | None = None


class DesiredSet(ToWorker, kind="desired"):
    """scheduler → worker, a core request answered by an ObservedSet; resent until observed equals desired. A lower epoch is refused."""

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[DesiredAllocation, ...]


class ObservedAllocation(Record):
    """What the worker has of an allocation. An ended one stays until the desired set drops it."""

    allocation_id: AllocationId
    run_id: RunId
    token: int
    generation: int
    state: Literal["preparing", "running", "exited"]
    wanted: Signal = Signal.RUN
    decide_at: float | None = None
    rendezvous: str | None = None
    acknowledged: Signal | None = None
    forced: bool = False
    exit_code: int | None = None
    fault: Literal["user", "machine"] | None = None
    reason: str | None = None
    validations: int = 0
    checkpoints: int = 0
    step: int = 0


class Slot(Record):
    id: int
    kind: SlotKind
    name: str = ""
    memory_bytes: int | None = None


class Seen(BaseModel):
    """The leader's answer to a heartbeat: its epoch; `known` false asks the worker to send everything again."""

    epoch: int
    known: bool = True


class ObservedSet(WorkerRequest[Seen], owner="scheduler", kind="observed"):
    """worker → scheduler: the heartbeat (1 s), sent at once on a change; the same model answers a desired set.

    `incarnation` is new at each start of the daemon; `sequence` rises with each set sent; `epoch` is the highest seen, kept on disk.
    """

    worker: WorkerId
    incarnation: UUID
    sequence: int
    epoch: int
    pool: PoolName
    address: str
    slots: tuple[Slot, ...]
    allocations: tuple[ObservedAllocation, ...] = ()
    drained: bool = True
    isolated_user: bool = False
    version: str = ""
    labels: dict[str, str] = Field(default_factory=dict)


class WorkerJoined(Event, entity="worker", happened="joined"):
    """scheduler → gateway, provisioner: the worker answers and its slots can be granted. Also sent again when it changes (slots, draining)."""

    worker: WorkerId
    version: int
    pool: PoolName
    address: str
    slots: tuple[Slot, ...]
    state: Literal["ready", "draining"]
    used_slots: int = 0
    joined_at: datetime
    isolated_user: bool = False


class WorkerLost(Event, entity="worker", happened="lost"):
    worker: WorkerId
    version: int
    pool: PoolName
    reason: str
    lost_at: datetime


class DrainWorker(Command, owner="scheduler", verb="drain_worker"):
    """provisioner, gateway → scheduler. `reclaim` false waits for its runs; true preempts them. `undo` takes it back."""

    worker: WorkerId
    reclaim: bool = False
    undo: bool = False


class WorkerDrained(Event, entity="worker", happened="drained"):
    """scheduler → provisioner: nothing runs there, its journal and uploads are empty, and nothing will be granted."""

    worker: WorkerId
    version: int
    pool: PoolName
    drained_at: datetime


class PoolDemand(Event, entity="pool", happened="demanded"):
    """scheduler → provisioner: slots that could be used now beyond what stands, and the largest single-machine need."""

    pool: PoolName
    version: int
    waiting_slots: int
    used_slots: int
    idle_slots: int
    largest_single_node: int = 0
    slot_kind: SlotKind | None = None
    soon_slots: int = 0


class PoolCapacity(Event, entity="pool", happened="measured"):
    """scheduler → searcher, gateway."""

    pool: PoolName
    version: int
    slots: int
    used_slots: int
    waiting_slots: int
    expected_slots: int = 0


class EditExperiment(Command, owner="scheduler", verb="edit_experiment"):
    experiment_id: ExperimentId
    priority: int | None = None
    weight: float | None = None
    max_slots: int | None = None
    pool: PoolName | None = None


class AllocationFacts(BaseModel):
    """Whose reports a run's are. `stale`: a later token exists or the run was ended as lost or forced."""

    tenant: UUID
    experiment_id: ExperimentId
    trial_id: TrialId
    run_id: RunId
    run_number: int
    token: int
    members: tuple[WorkerId, ...]
    stale: bool = False
    code_hash: str | None = None
    start_checkpoint: UUID | None = None


class GetAllocation(Query[AllocationFacts], owner="scheduler", name="allocation"):
    run_id: RunId


class IssuedJoin(BaseModel):
    token: str
    expires_at: datetime


class IssueJoin(Query[IssuedJoin], owner="scheduler", name="issue_join"):
    """A join token for one worker, kept as a hash, good once until it expires."""

    pool: PoolName
    worker: WorkerId | None = None
    life_s: float = 3600.0


class Credentials(BaseModel):
    """A worker's user JWT for NATS; its nkey seed never leaves the machine."""

    worker: WorkerId
    jwt: str
    nats_url: str
    expires_at: datetime


class Join(Query[Credentials], owner="scheduler", name="join"):
    token: str
    worker: WorkerId
    user_key: str
    pool: PoolName
    address: str


class Renew(WorkerRequest[Credentials], owner="scheduler", kind="renew"):
    worker: WorkerId
    user_key: str


class QueueEntry(Record):
    """A waiting or running request. Work of other tenants is never listed, only counted in the reasons."""

    trial_id: TrialId
    experiment_id: ExperimentId
    experiment_number: int
    trial_number: int
    pool: PoolName
    priority: int
    slots: int
    state: Literal["waiting", "running"]
    position: int | None = None
    code: str | None = None
    reason: str | None = None
    since: datetime


class QueuePage(BaseModel):
    entries: tuple[QueueEntry, ...]
    next: str | None = None


class GetQueue(Query[QueuePage], owner="scheduler", name="queue"):
    pool: PoolName | None = None
    after: str | None = None
    limit: int = 200


class Explanation(BaseModel):
    """Why a trial waits or runs: a stable code, a sentence, and the facts as data."""

    trial_id: TrialId
    state: Literal["waiting", "running", "closed", "unknown"]
    code: str
    message: str
    facts: dict[str, JsonValue] = Field(default_factory=dict)


class Explain(Query[Explanation], owner="scheduler", name="explain"):
    trial_id: TrialId


class PoolView(Record):
    pool: PoolName
    slot_kind: SlotKind | None
    workers: int
    slots: int
    used_slots: int
    waiting_slots: int
    preemption: bool
    exclusive: bool


class WorkerView(Record):
    worker: WorkerId
    pool: PoolName
    address: str
    state: Literal["ready", "draining", "lost"]
    slots: int
    used_slots: int
    slot_kind: SlotKind | None
    last_heard: datetime
    isolated_user: bool = False


class ClusterView(BaseModel):
    pools: tuple[PoolView, ...]
    workers: tuple[WorkerView, ...]


class GetCluster(Query[ClusterView], owner="scheduler", name="snapshot"):
    """Pools and workers, without any tenant's content."""


class Placeable(BaseModel):
    warnings: tuple[str, ...] = ()


class ValidatePlacement(Query[Placeable], owner="scheduler", name="validate"):
    """Could this ever be placed? Raises Rejected (`pool_unknown`, `slots_unsatisfiable`, …) with the place in the config."""

    pool: PoolName
    min_slots: int
    max_slots: int
    kind: SlotKind | None = None
    single_node: bool = False
    priority: int | None = None
