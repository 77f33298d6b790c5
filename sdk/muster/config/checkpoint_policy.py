"""When a checkpoint of a trial is due: `checkpoint_policy` and `min_checkpoint_period`."""

from typing import Literal

from pydantic import Field

from muster.config.base_section import Section, refusal, rule

CheckpointPolicy = Literal["best", "all", "none"]
PeriodUnit = Literal["batches", "records", "epochs", "minutes"]


class CheckpointPeriod(Section):
    """Maximum training between two stored checkpoints; set exactly one unit.

    Attributes:
        batches: Steps, as the script numbers them in `report`.
        records: Units of the metric `records` that the script reports, counted from the start of the trial.
        epochs: Units of the metric `epochs` that the script reports, counted from the start of the trial.
        minutes: Minutes of wall-clock time.
    """

    batches: int | None = Field(default=None, ge=1, le=2**53)
    records: int | None = Field(default=None, ge=1, le=2**53)
    epochs: int | None = Field(default=None, ge=1, le=2**53)
    minutes: int | None = Field(default=None, ge=1, le=2**31)

    @rule
    def _is_one(self) -> None:
        named = [unit for unit in CheckpointPeriod.model_fields if getattr(self, unit) is not None]
        if len(named) != 1:
            given = " and ".join(named) if named else "none"
            raise refusal(
                f"a period has exactly one of batches, records, epochs and minutes; given: {given}",
                hint="e.g. batches: 1000",
            )

    @property
    def unit(self) -> PeriodUnit:
        """Unit of the period."""
        if self.records is not None:
            return "records"
        if self.epochs is not None:
            return "epochs"
        return "batches" if self.batches is not None else "minutes"

    @property
    def length(self) -> int:
        """Number of units."""
        return self.batches or self.records or self.epochs or self.minutes or 1
