"""A machine's slots and the allocations on it."""

from dataclasses import dataclass
from typing import Literal

from services.scheduler.core.state.records.labels import Labels
from services.scheduler.core.state.records.run import Run, RunExit
from shared.ids import PoolName, WorkerId
from shared.messages.trial_specs import Signal, SlotKind

Phase = Literal["preparing", "ready", "running", "stopping", "exited"]


@dataclass(frozen=True, slots=True)
class Kind:
    """The slots and labels of a machine. `host`: equal for workers of one host; None: it is one by itself."""

    name: WorkerId
    pool: PoolName
    slots: int
    slot_kind: SlotKind | None = None
    labels: Labels = ()
    host: str | None = None


@dataclass(slots=True)
class Local:
    """One allocation on this machine."""

    run: Run
    slot_ids: tuple[int, ...]
    signal: Signal
    decide_at: float | None
    phase: Phase = "preparing"
    rendezvous: str | None = None
    progress: float = 0.0
    exit: RunExit | None = None
    is_started: bool = False
    is_dropped: bool = False
