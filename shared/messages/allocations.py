"""Desired and observed sets: what the scheduler wants a worker to run, and what the worker runs."""

from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.base import Record, ToWorker, WorkerRequest
from shared.messages.trial_specs import (
    MACHINE_LENGTH,
    GangMember,
    Isolation,
    PolicyMatch,
    Signal,
    SlotKind,
    TrialSpec,
)

MOST_SAMPLES = 1 << 31
MOST_STEP_S = 86_400.0


class DesiredAllocation(Record):
    """An allocation that the worker should run.

    `spec` is sent until the worker's reply names the allocation. `hangs`: all members of the gang reported a hang at the same time; each
    worker kills its ranks.
    """

    allocation_id: AllocationId
    run_id: RunId
    run_number: int
    trial_id: TrialId
    experiment_id: ExperimentId
    tenant: UUID
    token: int
    generation: int
    signal: Signal
    decide_at: float | None = None
    members: tuple[GangMember, ...]
    rendezvous: str | None = None
    preemption_timeout_s: float = 3600.0
    spec: TrialSpec | None = None
    traceparent: str | None = None
    hangs: bool = False


class DesiredSet(ToWorker, kind="desired"):
    """scheduler → worker: the desired set, as a core request that the worker answers with an ObservedSet.

    The scheduler resends it until the observed set equals it. Headers carry the scheduler's signature. The worker rejects a set that the
    scheduler did not sign, one with a lower epoch, and one that is not newer than the last.

    Attributes:
        leader_since: When the leader of this epoch acquired its lease; None from a scheduler of 0.2.0.
    """

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[DesiredAllocation, ...]
    leader_since: datetime | None = None


class Batches(Record):
    """Batch sizes and gradient statistics of an elastic run, as its script reports them.

    Sizes are in samples. `grad_sqr`: squared norm of the gradient. `grad_var`: variance of the gradient at a batch of `first` samples.
    """

    per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    first: int = Field(ge=1, le=MOST_SAMPLES)
    last: int = Field(ge=1, le=MOST_SAMPLES)
    least_per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    most_per_slot: int = Field(ge=1, le=MOST_SAMPLES)
    grad_sqr: float = Field(ge=0, le=1e30, allow_inf_nan=False)
    grad_var: float = Field(ge=0, le=1e30, allow_inf_nan=False)


class StepMeasurement(Record):
    """Seconds per training step of an elastic run.

    The worker sends the same value again while it changes little. It comes from user code, so the worker validates it.
    """

    step_s: float = Field(gt=0, le=MOST_STEP_S, allow_inf_nan=False)
    batches: Batches | None = None


class ObservedAllocation(Record):
    """State of an allocation on the worker. An ended allocation stays in the set until the desired set drops it.

    Attributes:
        measured: Of elastic runs, reported by the chief.
        is_live: The script supports being resized while it trains.
        prepared: Generation for which the worker has everything it needs.
        joined: Generation in which all ranks on this worker train.
        invalid: The script rejected its hyperparameters as invalid; `reason` says why.
        policies: Log policies that the output on this worker matched.
        hangs: Ranks on this worker have reported no step for `hang_timeout` and show no activity. Ranks on other workers may still be active.
    """

    allocation_id: AllocationId
    run_id: RunId
    token: int
    generation: int
    state: Literal["preparing", "running", "exited"]
    signal: Signal = Signal.RUN
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
    """The leader's reply to a heartbeat. `known` is false if the worker must send its full state again."""

    epoch: int
    known: bool = True


class ReclaimNotice(Record):
    """Notice that the provider reclaims the machine.

    `in_s`: seconds until then by the worker's clock (the provider's clock may differ). None: the provider gave no time, or only a warning that
    a reclaim is likely.
    """

    reason: str = Field(max_length=200)
    in_s: float | None = Field(None, ge=0, le=MOST_STEP_S, allow_inf_nan=False)


class ObservedSet(WorkerRequest[HeartbeatReply], owner="scheduler", kind="observed"):
    """worker → scheduler: the heartbeat, sent every second and at once on a change. It also answers a desired set.

    `incarnation` changes with each start of the daemon. `sequence` increases with each set. `epoch` is the highest one seen, stored on disk.
    `trouble`: why the worker cannot start new work, in one sentence. `refused_sets`: desired sets that this daemon refused because the scheduler
    had not signed them or their epoch is not plausible; `refusal`: why it refused the last one. `private_network`: runs here have networks of
    their own. `machine`: equal for all workers of one host. `isolation_detail`: the limits of the isolation, in one sentence.
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
    machine: str | None = Field(None, max_length=MACHINE_LENGTH)
    isolation: Isolation = "none"
    isolation_detail: str = Field("", max_length=200)
    version: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    trouble: str | None = None
    leaving: ReclaimNotice | None = None
    refused_sets: int = 0
    refusal: str | None = None
    private_network: bool = False

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Parse a payload. Reasons contain output of user code: NUL, which Postgres cannot store, becomes U+FFFD."""
        return super().from_bytes(payload.replace(b"\\u0000", b"\\ufffd"))
