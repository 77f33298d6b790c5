"""The smaller sections of the config: resources, storage, reproducibility, profiling and retention."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator

from muster.config.base_section import Section, refusal, rule
from muster.config.containers import ContainerDevice, Size
from muster.config.labels import Labels
from muster.config.priority_weight import Priority, Weight

SlotKind = Literal["cuda", "rocm", "cpu"]
MAX_SLOTS = 65_536
WorkerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,63}$")]


class SlotRange(Section):
    """Range of slots of an elastic trial, which is resized while it trains or at its checkpoints.

    Attributes:
        min: Slots that the trial needs to run and keeps while others wait.
        max: Maximum slots, if more are idle.
    """

    min: int = Field(ge=1, le=MAX_SLOTS)
    max: int = Field(ge=1, le=MAX_SLOTS)

    @rule
    def _is_a_range(self) -> None:
        if self.min > self.max:
            raise refusal(f"min ({self.min}) is above max ({self.max})", "min")


def _of_slots(asked: object) -> str:
    """Tag of the form of `slots_per_trial`."""
    if isinstance(asked, Mapping | SlotRange):
        return "<range>"
    return "<part>" if isinstance(asked, float) and not asked.is_integer() else "<number>"


def _in_thousandths(part: float) -> float:
    if not 0 < part < 1:
        raise refusal(f"{part:g} is neither a whole number of slots nor a fraction of one slot")
    if not (part * 1000).is_integer() and round(part, 3) != part:
        raise refusal(f"{part:g} has more than three decimals")
    return part


SlotsPerTrial = Annotated[
    Annotated[int, Field(ge=0, le=MAX_SLOTS), Tag("<number>")]
    | Annotated[float, AfterValidator(_in_thousandths), Tag("<part>")]
    | Annotated[SlotRange, Tag("<range>")],
    Discriminator(_of_slots),
]


class Resources(Section):
    """Resources of a trial and limits of the experiment.

    Attributes:
        slots_per_trial: Slots of one trial. 0 runs without a slot; 0.5 shares a slot with other trials of the tenant;
            `{min: 2, max: 8}` makes the trial elastic.
        max_slots: Maximum slots of all trials together.
        weight: Weight of the experiment under fair share.
        priority: 1 (most urgent) to 99. Under fair share (the default), it orders the experiments of one user; in a pool with
            order `priority`, it orders all experiments. Null uses the pool's default.
        resource_pool: Name of the pool; null uses the default pool.
        slot_kind: Kind of slot; null accepts any kind in the pool.
        is_single_node: Whether all slots must be on one worker.
        required_labels: Labels that a worker must have, such as `{rack: r7}`.
        preferred_labels: Labels that a worker should have; workers with more of them are preferred.
        excluded_workers: Ids of workers that must not be used.
        shm_size: Size of a container's `/dev/shm`, such as `4 GiB`; null uses the engine's default.
        devices: Device files of the machines in a container, such as `{host_path: /dev/fuse, container_path: /dev/fuse}`, or
            `/dev/fuse:/dev/fuse:rwm`.
    """

    slots_per_trial: SlotsPerTrial = 1
    max_slots: int | None = Field(default=None, ge=1, le=1_000_000)
    weight: Weight = 1
    priority: Priority | None = None
    resource_pool: str | None = Field(default=None, max_length=128)
    slot_kind: SlotKind | None = None
    is_single_node: bool = False
    required_labels: Labels = Field(default_factory=dict)
    preferred_labels: Labels = Field(default_factory=dict)
    excluded_workers: tuple[WorkerName, ...] = Field(default=(), max_length=64, strict=False)
    shm_size: Size | None = None
    devices: tuple[ContainerDevice, ...] = Field(default=(), max_length=64, strict=False)

    @property
    def slot_range(self) -> tuple[int, int]:
        """Minimum and maximum slots of a trial; equal if it is not elastic."""
        asked = self.slots_per_trial
        if isinstance(asked, SlotRange):
            return (asked.min, asked.max)
        return (1, 1) if isinstance(asked, float) else (asked, asked)

    @property
    def slot_fraction(self) -> int:
        """Share of one slot in thousandths; 0 if the trial uses whole slots."""
        return round(self.slots_per_trial * 1000) if isinstance(self.slots_per_trial, float) else 0

    @field_validator("devices", mode="before")
    @classmethod
    def _complete_devices(cls, devices: object) -> object:
        """Accept `host:container:mode` for a mapping."""
        if not isinstance(devices, list | tuple):
            return devices
        names = ("host_path", "container_path", "mode")
        return [
            dict(zip(names, one.split(":"), strict=False)) if isinstance(one, str) else one for one in devices
        ]

    @field_validator("resource_pool")
    @classmethod
    def _empty_is_absent(cls, pool: str | None) -> str | None:
        return pool or None

    @rule
    def _one_trial_fits(self) -> None:
        least, _ = self.slot_range
        if self.max_slots is not None and self.max_slots < least:
            raise refusal(
                f"max_slots ({self.max_slots}) is below slots_per_trial ({least}): no trial could start",
                "max_slots",
            )

    @rule
    def _labels_agree(self) -> None:
        for key in self.required_labels.keys() & self.preferred_labels.keys():
            raise refusal(
                f"{key} is both required and preferred: remove it from one of them", "preferred_labels", key
            )


class CheckpointStorage(Section):
    """How many checkpoints to keep when the experiment ends; the union of the three sets is kept.

    Attributes:
        save_experiment_best: Best checkpoints of the experiment.
        save_trial_best: Best checkpoints of each trial.
        save_trial_latest: Newest checkpoints of each trial.
    """

    save_experiment_best: int = Field(default=0, ge=0, le=1_000_000)
    save_trial_best: int = Field(default=1, ge=0, le=1_000_000)
    save_trial_latest: int = Field(default=1, ge=0, le=1_000_000)


class Reproducibility(Section):
    """Random seeds.

    Attributes:
        experiment_seed: Seed of sampling and of the trials' seeds; null chooses one and stores it.
    """

    experiment_seed: int | None = Field(default=None, ge=0, le=2**31 - 1)


class Profiling(Section):
    """Whether to measure resource usage (metric group `system`) and step timings (metric group `timing`).

    Attributes:
        enabled: Whether trials are profiled.
        begin_on_batch: First measured step, as your script numbers steps in `report`.
        end_after_batch: Last measured step; null measures to the end of the trial.
        sync_timings: Synchronize with the GPU before each clock reading: work is attributed to the step that started it, and
            steps take longer.
    """

    enabled: bool = False
    begin_on_batch: int = Field(default=0, ge=0)
    end_after_batch: int | None = Field(default=None, ge=0)
    sync_timings: bool = False

    @rule
    def _is_a_step_range(self) -> None:
        if self.end_after_batch is not None and self.end_after_batch < self.begin_on_batch:
            raise refusal(
                f"end_after_batch ({self.end_after_batch}) is below begin_on_batch ({self.begin_on_batch}): no step would be measured",
                "end_after_batch",
            )


class RetentionPolicy(Section):
    """Days for which logs and metrics are kept; -1 uses the site's default.

    Attributes:
        metric_detail_days: Days after which a series is thinned to minima and maxima, a sixteenth of its points.
        metric_retention_days: Days after which points are deleted; summaries stay.
        log_retention_days: Days after which log lines of the trials are deleted.
    """

    log_retention_days: int = Field(default=-1, ge=-1, le=36_500)
    metric_detail_days: int = Field(default=-1, ge=-1, le=36_500)
    metric_retention_days: int = Field(default=-1, ge=-1, le=36_500)

    @rule
    def _keeps_a_day(self) -> None:
        for key in ("metric_detail_days", "metric_retention_days", "log_retention_days"):
            if getattr(self, key) == 0:
                raise refusal(f"{key} must not be 0: write 1 or more days, or -1 for the site's default", key)
