"""What a workload is made of: trials that arrive, ask for slots, and have work to do. Neighbours: `training` lets them run,
`workloads/` brings published ones, `files` reads a user's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from services.scheduler.core.state.records.labels import PlacementConstraint
from shared.messages.specs import Thousandths

Spread = tuple[int, ...]
"""Slots held on each machine of a gang, the chief first."""


@dataclass(frozen=True, slots=True)
class TrainingPace:
    """Progress per millisecond; it holds until the work's progress is `until`."""

    per_ms: float
    until: float


class Work(Protocol):
    """How a trial gets on, as plain arithmetic: the same question has the same answer.

    Progress is in units of the work's own, from 0 to `total`.
    """

    @property
    def total(self) -> float: ...

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        """How fast it goes from `progress` on with these slots; `until` is above `progress`."""
        ...


@dataclass(frozen=True, slots=True)
class PlainWork:
    """Work of a known length: `length_ms` with `slots` slots; more or fewer slots change the pace in proportion."""

    length_ms: int
    slots: int

    @property
    def total(self) -> float:
        return float(self.length_ms)

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        return TrainingPace(sum(spread) / self.slots if self.slots else 1.0, self.total)


@dataclass(frozen=True, slots=True)
class SteppedWork:
    """Work of so many steps, each of `step_ms` with `slots` slots; progress is counted in steps."""

    steps: int
    step_ms: float
    slots: int

    @property
    def total(self) -> float:
        return float(self.steps)

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        return TrainingPace((sum(spread) / self.slots if self.slots else 1.0) / self.step_ms, self.total)


class Reports(Protocol):
    """What a trial of a search validates: every so many steps, and at its last."""

    @property
    def every(self) -> int: ...

    def time(self, step: int) -> float:
        """What the search counts as time, to be held against `decide_at`."""
        ...

    def values(self, step: int) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class WorkloadTrial:
    """One trial of a workload.

    Attributes:
        user: Whose it is, below tenant and workspace; an experiment belongs to one user.
        experiment: Trials of the same experiment share priority, weight and limits.
        min_slots: Below `max_slots` for an elastic run.
        part: It takes so much of one slot, in thousandths; 0: whole slots.
        checkpoint_ms: Training time between two checkpoints; None: it saves only when it is told to stop.
        launch_ms: From the desired set to the first step, with fetching and restoring.
        stop_ms: From the signal to the end of the last rank, with saving.
        resize_ms: How long it stands still when it goes on with other slots; None: it saves, ends and is launched again.
        upload_ms: From the end of saving until the checkpoint is committed.
        steps: The trial's own steps from beginning to end.
        begins_at: The progress of the checkpoint that it starts from.
        reports: What it validates, where a search judges it.
    """

    name: str
    arrives_ms: int
    work: Work
    min_slots: int = 1
    max_slots: int = 1
    part: Thousandths = 0
    tenant: str = "default"
    workspace: str = "default"
    user: str = "default"
    experiment: str = ""
    priority: int | None = None
    weight: float = 1.0
    single_node: bool = False
    where: PlacementConstraint | None = None
    checkpoint_ms: int | None = None
    launch_ms: int = 1000
    stop_ms: int = 500
    upload_ms: int = 500
    resize_ms: int | None = None
    max_restarts: int = 5
    experiment_max_slots: int | None = None
    max_concurrent_trials: int | None = None
    steps: int = 1000
    begins_at: float = 0.0
    reports: Reports | None = None
