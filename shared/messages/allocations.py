"""The desired and the observed set: what the scheduler wants on a machine, and what the worker has there."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.base import Record, ToWorker, WorkerRequest
from shared.messages.specs import GangMember, PolicyMatch, Signal, SlotKind, TrialSpec

MOST_SAMPLES = 1 << 31
MOST_STEP_S = 86_400.0


class DesiredAllocation(Record):
    """What the worker should have running. `spec` is carried until the worker's reply names the allocation. `hangs`: every member of the
    gang has said so at one time: each ends its ranks."""

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
    members: tuple[GangMember, ...]
    rendezvous: str | None = None
    preemption_timeout_s: float = 3600.0
    spec: TrialSpec | None = None
    traceparent: str | None = None
    hangs: bool = False


class DesiredSet(ToWorker, kind="desired"):
    """scheduler → worker, a core request answered by an ObservedSet; resent until observed equals desired. A lower epoch is refused."""

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[DesiredAllocation, ...]


class Batches(Record):
    """What the script of an elastic run has said of its batches, and measured of its gradient: its squared norm, and its variance at `first` samples."""

    per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    first: int = Field(ge=1, le=MOST_SAMPLES)
    last: int = Field(ge=1, le=MOST_SAMPLES)
    least_per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    most_per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    grad_sqr: float = Field(ge=0, le=1e30, allow_inf_nan=False)
    grad_var: float = Field(ge=0, le=1e30, allow_inf_nan=False)


class StepMeasurement(Record):
    """How an elastic run trains: seconds of a step; the same is said again while little changes. It comes from user code: the worker checks it."""

    step_s: float = Field(gt=0, le=MOST_STEP_S, allow_inf_nan=False)
    batches: Batches | None = None


class ObservedAllocation(Record):
    """What the worker has of an allocation. An ended one stays until the desired set drops it. `measured`: of elastic runs, by the chief.

    `is_live`: its script can be resized while it trains. `prepared`: the generation for which the worker has what it needs; `joined`: the
    one in which all ranks here train.

    `invalid`: its script calls its hyperparameters invalid; `reason` says why. `policies`: log policies that its output here met.
    `hangs`: of its ranks here steps were expected for `hang_timeout`, and nothing in them moves; elsewhere one may."""

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
    invalid: bool = False
    validations: int = 0
    checkpoints: int = 0
    step: int = 0
    measured: StepMeasurement | None = None
    is_live: bool = False
    prepared: int = 1
    joined: int = 1
    policies: tuple[PolicyMatch, ...] = ()
    hangs: bool = False


class Slot(Record):
    id: int
    kind: SlotKind
    name: str = ""
    memory_bytes: int | None = None


class HeartbeatReply(BaseModel):
    """The leader's answer to a heartbeat: its epoch; `known` false asks the worker to send everything again."""

    epoch: int
    known: bool = True


class ReclaimNotice(Record):
    """The machine's provider takes it back: `in_s` from now, as seen by the worker (its provider's clock may be another); None: it does not say
    when, or only that this has become likely."""

    reason: str = Field(max_length=200)
    in_s: float | None = Field(None, ge=0, le=MOST_STEP_S, allow_inf_nan=False)


class ObservedSet(WorkerRequest[HeartbeatReply], owner="scheduler", kind="observed"):
    """worker → scheduler: the heartbeat (1 s), sent at once on a change; the same model answers a desired set.

    `incarnation` is new at each start of the daemon; `sequence` rises with each set sent; `epoch` is the highest seen, kept on disk.
    `trouble`: why it can begin nothing new, in a sentence.
    """

    IS_TRACED = False

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
    trouble: str | None = None
    leaving: ReclaimNotice | None = None
