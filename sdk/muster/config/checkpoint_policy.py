"""When a trial's script is told that a checkpoint is due: `checkpoint_policy` and `min_checkpoint_period`."""

from typing import Literal

from pydantic import Field

from muster.config.section import Section, refusal, rule

CheckpointPolicy = Literal["best", "all", "none"]
PeriodUnit = Literal["batches", "records", "epochs", "minutes"]


class CheckpointPeriod(Section):
    """How far a trial may train until another checkpoint is stored: one of these.

    Attributes:
        batches: Steps, as the script numbers them.
        records: By the metric `records` that the script reports, counted from the trial's beginning.
        epochs: By the metric `epochs`, likewise.
        minutes: By the clock.
    """

    batches: int | None = Field(default=None, ge=1, le=2**53)
    records: int | None = Field(default=None, ge=1, le=2**53)
    epochs: int | None = Field(default=None, ge=1, le=2**53)
    minutes: int | None = Field(default=None, ge=1, le=2**31)

    @rule
    def _is_one(self) -> None:
        named = [unit for unit in CheckpointPeriod.model_fields if getattr(self, unit) is not None]
        if len(named) != 1:
            said = " and ".join(named) if named else "none"
            raise refusal(
                f"a period is one of batches, records, epochs or minutes; given: {said}",
                hint="e.g. batches: 1000",
            )

    @property
    def unit(self) -> PeriodUnit:
        """What its length counts."""
        if self.records is not None:
            return "records"
        if self.epochs is not None:
            return "epochs"
        return "batches" if self.batches is not None else "minutes"

    @property
    def length(self) -> int:
        """How many of them."""
        return self.batches or self.records or self.epochs or self.minutes or 1
