"""The smaller sections of the config: resources, environment and storage."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator

from muster.config.determined_keys import BY_PATH
from muster.config.labels import Labels
from muster.config.priority_weight import Priority, Weight
from muster.config.section import Section, refusal, rule

SlotKind = Literal["cuda", "rocm", "cpu"]
MAX_SLOTS = 65_536
WorkerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,63}$")]


class SlotRange(Section):
    """From how many slots to how many a trial takes: it is elastic, and resized while it trains or at its checkpoints.

    Attributes:
        min: What it needs to run, and keeps whoever else waits.
        max: What it takes of slots that nobody else needs.
    """

    min: int = Field(ge=1, le=MAX_SLOTS)
    max: int = Field(ge=1, le=MAX_SLOTS)

    @rule
    def _is_a_range(self) -> None:
        if self.min > self.max:
            raise refusal(f"min ({self.min}) is above max ({self.max})", "min")


def _of_slots(asked: object) -> str:
    """Which kind of `slots_per_trial` is meant."""
    if isinstance(asked, Mapping | SlotRange):
        return "<range>"
    return "<part>" if isinstance(asked, float) and not asked.is_integer() else "<number>"


def _in_thousandths(part: float) -> float:
    if not 0 < part < 1:
        raise refusal(f"{part:g} is neither a whole number of slots nor a part of one")
    if not (part * 1000).is_integer() and round(part, 3) != part:
        raise refusal(f"{part:g} is finer than thousandths of a slot")
    return part


SlotsPerTrial = Annotated[
    Annotated[int, Field(ge=0, le=MAX_SLOTS), Tag("<number>")]
    | Annotated[float, AfterValidator(_in_thousandths), Tag("<part>")]
    | Annotated[SlotRange, Tag("<range>")],
    Discriminator(_of_slots),
]


class Resources(Section):
    """What one trial needs and what the experiment may take.

    Attributes:
        slots_per_trial: Slots of one trial; 0 runs without a slot, 0.5 shares one with others of the tenant,
            `{min: 2, max: 8}` takes as many as are idle.
        max_slots: The most that all trials together may hold.
        weight: Share of the experiment under fair share.
        priority: 1 (most urgent) to 99, among one user's experiments in a pool that shares fairly (the default), among all in one
            with order `priority`; null takes the pool's default.
        resource_pool: Name of the pool; null takes the default pool.
        slot_kind: Kind of slot; null takes what the pool has.
        is_single_node: Whether all slots must be of one worker.
        required_labels: Only workers that have all of these, such as `{rack: r7}`.
        preferred_labels: Workers that have more of these are taken before those that have fewer.
        excluded_workers: None of these workers, by their ids.
    """

    refused: ClassVar[Mapping[str, str]] = {"devices": BY_PATH["resources", "devices"].says}

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

    @property
    def slot_range(self) -> tuple[int, int]:
        """The fewest and the most slots of a trial; alike where it is not elastic."""
        asked = self.slots_per_trial
        if isinstance(asked, SlotRange):
            return (asked.min, asked.max)
        return (1, 1) if isinstance(asked, float) else (asked, asked)

    @property
    def slot_part(self) -> int:
        """How much of its one slot a trial takes, in thousandths; 0 where its slots are whole."""
        return round(self.slots_per_trial * 1000) if isinstance(self.slots_per_trial, float) else 0

    @field_validator("resource_pool")
    @classmethod
    def _empty_is_absent(cls, pool: str | None) -> str | None:
        return pool or None

    @rule
    def _one_trial_fits(self) -> None:
        least, _ = self.slot_range
        if self.max_slots is not None and self.max_slots < least:
            raise refusal(
                f"max_slots ({self.max_slots}) is below slots_per_trial ({least}): no trial could ever start",
                "max_slots",
            )

    @rule
    def _labels_agree(self) -> None:
        for key in self.required_labels.keys() & self.preferred_labels.keys():
            raise refusal(
                f"{key} is both required and preferred: keep it where it belongs", "preferred_labels", key
            )


class CheckpointStorage(Section):
    """How many checkpoints are kept when the experiment ends; the union of the three is kept."""

    save_experiment_best: int = Field(default=0, ge=0, le=1_000_000)
    save_trial_best: int = Field(default=1, ge=0, le=1_000_000)
    save_trial_latest: int = Field(default=1, ge=0, le=1_000_000)


class Reproducibility(Section):
    """The seed of sampling and of the trials' own seeds; null has one chosen and stored."""

    experiment_seed: int | None = Field(default=None, ge=0, le=2**31 - 1)


class Profiling(Section):
    """Whether it is measured what the trial uses, and where the time of its steps goes: the metric groups `system` and `timing`.

    Attributes:
        begin_on_batch: The first step that is measured, as your script counts them in `report`.
        end_after_batch: The last one; null is the trial's end.
        sync_timings: Wait for the GPU before a clock is read: then its work counts where it was begun, and steps take longer.
    """

    enabled: bool = False
    begin_on_batch: int = Field(default=0, ge=0)
    end_after_batch: int | None = Field(default=None, ge=0)
    sync_timings: bool = False

    @rule
    def _ends_after_it_begins(self) -> None:
        if self.end_after_batch is not None and self.end_after_batch < self.begin_on_batch:
            raise refusal(
                f"end_after_batch ({self.end_after_batch}) is below begin_on_batch ({self.begin_on_batch}): nothing would be measured",
                "end_after_batch",
            )


class RetentionPolicy(Section):
    """For how many days logs and metrics are kept; -1 is as long as the site keeps them.

    Attributes:
        metric_detail_days: After so many days a series keeps the least and the greatest of each stretch, a sixteenth of its points.
        metric_retention_days: After so many days the points go; what they were summed up to stays.
        log_retention_days: After so many days the lines of the trials' logs go.
    """

    log_retention_days: int = Field(default=-1, ge=-1, le=36_500)
    metric_detail_days: int = Field(default=-1, ge=-1, le=36_500)
    metric_retention_days: int = Field(default=-1, ge=-1, le=36_500)

    @rule
    def _keeps_a_day(self) -> None:
        for key in ("metric_detail_days", "metric_retention_days", "log_retention_days"):
            if getattr(self, key) == 0:
                raise refusal(
                    f"{key} is 0: write 1 or more days, or -1 for as long as the site keeps them", key
                )
