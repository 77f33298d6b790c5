"""What workers say of themselves and of their allocations."""

from dataclasses import dataclass
from typing import Literal

from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.records.labels import Labels
from services.scheduler.core.state.records.run import RunExit
from shared.ids import AllocationId, PoolName, RunId, WorkerId
from shared.messages.specs import Signal, SlotKind


@dataclass(frozen=True, slots=True)
class Batches:
    """What the script of an elastic run tells of its batches: samples of a step by each slot, and its gradient's noise."""

    per_slot: int
    limits: BatchLimits
    noise: GradientNoise


@dataclass(frozen=True, slots=True)
class StepMeasurement:
    """How an elastic run trains: seconds of a step."""

    step_s: float
    batches: Batches | None = None


@dataclass(frozen=True, slots=True)
class ReclaimNotice:
    """The machine's provider takes it back: in so many seconds; None: it does not say when, or only that this has become likely."""

    in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What a worker has of one allocation. `exit` is set when its ranks have ended; `measured`: how an elastic run trains; `is_excluded`: a log policy
    keeps later runs of its trial off this machine; `hangs`: its ranks there do, as far as that worker sees."""

    allocation: AllocationId
    run: RunId
    token: int
    generation: int = 1
    state: Literal["preparing", "running", "exited"] = "running"
    wanted: Signal = Signal.RUN
    decide_at: float | None = None
    rendezvous: str | None = None
    step: int = 0
    checkpoints: int = 0
    measured: StepMeasurement | None = None
    is_excluded: bool = False
    is_live: bool = False
    prepared: int = 1
    joined: int = 1
    hangs: bool = False
    exit: RunExit | None = None


@dataclass(frozen=True, slots=True)
class ObservedState:
    """One observed set. `is_empty`: nothing runs there, and its journal and uploads are empty; `leaving`: what its provider has said."""

    worker: WorkerId
    pool: PoolName
    kind: SlotKind | None
    slot_ids: tuple[int, ...]
    address: str = "127.0.0.1"
    labels: Labels = ()
    is_isolated: bool = False
    is_empty: bool = True
    trouble: str | None = None
    leaving: ReclaimNotice | None = None
    allocations: tuple[Observed, ...] = ()
