"""The observed state that workers report about themselves and their allocations."""

from dataclasses import dataclass
from typing import Literal

from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.records.labels import Labels
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.worker import MachineId
from shared.ids import AllocationId, PoolName, RunId, WorkerId
from shared.messages.trial_specs import Isolation, Signal, SlotKind


@dataclass(frozen=True, slots=True)
class Batches:
    """Batch sizes and gradient noise that the script of an elastic run reports. `per_slot`: samples per step
    and slot."""

    per_slot: int
    limits: BatchLimits
    noise: GradientNoise


@dataclass(frozen=True, slots=True)
class StepMeasurement:
    """A measurement of an elastic run: seconds per step."""

    step_s: float
    batches: Batches | None = None


@dataclass(frozen=True, slots=True)
class ReclaimNotice:
    """The provider will reclaim the machine in `in_s` seconds. None: it gave no time, or only announced that a
    reclaim is likely."""

    in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """One allocation as its worker reports it.

    Attributes:
        exit: Set once its ranks have ended.
        measured: The step time of an elastic run.
        is_excluded: A log policy excludes this machine for later runs of the trial.
        hangs: Its ranks on this worker hang, as far as the worker can tell.
    """

    allocation: AllocationId
    run: RunId
    token: int
    generation: int = 1
    state: Literal["preparing", "running", "exited"] = "running"
    signal: Signal = Signal.RUN
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
    """One observed set.

    Attributes:
        is_empty: Nothing runs there, and its journal and uploads are empty.
        leaving: The provider's notice of a reclaim.
        has_private_network: Its runs have networks of their own.
    """

    worker: WorkerId
    pool: PoolName
    kind: SlotKind | None
    slot_ids: tuple[int, ...]
    address: str = "127.0.0.1"
    labels: Labels = ()
    is_isolated: bool = False
    machine: MachineId | None = None
    isolation: Isolation = "sandbox"
    isolation_detail: str = ""
    is_empty: bool = True
    trouble: str | None = None
    leaving: ReclaimNotice | None = None
    has_private_network: bool = False
    allocations: tuple[Observed, ...] = ()
