"""The trials of a workload: they arrive, request slots, and have work to do. `training` runs them, `workloads/`
has published ones, `files` reads those of a user."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from services.scheduler.core.state.records.labels import PlacementConstraint
from shared.messages.trial_specs import Thousandths

Spread = tuple[int, ...]
"""Slots held on each machine of a gang, the chief first."""


@dataclass(frozen=True, slots=True)
class TrainingPace:
    """Progress per millisecond, valid until the progress reaches `until`."""

    per_ms: float
    until: float


class Work(Protocol):
    """How a trial progresses. Deterministic.

    Progress is in arbitrary units from 0 to `total`.
    """

    @property
    def total(self) -> float: ...

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        """Return the pace from `progress` on with these slots; `until` is greater than `progress`."""
        ...


@dataclass(frozen=True, slots=True)
class PlainWork:
    """Work of a known length: `length_ms` with `slots` slots. The pace is proportional to the slots."""

    length_ms: int
    slots: int

    @property
    def total(self) -> float:
        return float(self.length_ms)

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        return TrainingPace(sum(spread) / self.slots if self.slots else 1.0, self.total)


@dataclass(frozen=True, slots=True)
class SteppedWork:
    """Work of `steps` steps, each taking `step_ms` with `slots` slots. Progress is counted in steps."""

    steps: int
    step_ms: float
    slots: int

    @property
    def total(self) -> float:
        return float(self.steps)

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        return TrainingPace((sum(spread) / self.slots if self.slots else 1.0) / self.step_ms, self.total)


class Reports(Protocol):
    """The validations of a trial of a search: every `every` steps, and at the last one."""

    @property
    def every(self) -> int: ...

    def time(self, step: int) -> float:
        """Return the search's time, to compare with `decide_at`."""
        ...

    def values(self, step: int) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class WorkloadTrial:
    """One trial of a workload.

    Attributes:
        user: The owner within tenant and workspace; an experiment belongs to one user.
        experiment: Trials of the same experiment share priority, weight and limits.
        min_slots: Less than `max_slots` for an elastic run.
        fraction: A fraction of one slot, in thousandths; 0: whole slots.
        checkpoint_ms: Training time between two checkpoints; None: only when told to stop.
        launch_ms: From the desired set to the first step, including fetching and restoring.
        stop_ms: From the signal to the end of the last rank, including saving.
        resize_ms: Pause of a live resize; None: it saves, ends and is launched again.
        upload_ms: From the end of saving until the checkpoint is committed.
        steps: The trial's own number of steps.
        begins_at: The progress of the checkpoint that it starts from.
        reports: Its validations, if a search judges it.
    """

    name: str
    arrives_ms: int
    work: Work
    min_slots: int = 1
    max_slots: int = 1
    fraction: Thousandths = 0
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
