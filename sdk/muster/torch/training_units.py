"""Periods in batches or epochs."""

from dataclasses import dataclass
from typing import Literal

from muster.errors import Rejected


@dataclass(frozen=True, slots=True)
class Period:
    """A period: a number of batches or epochs, at least 1."""

    count: int
    unit: Literal["batches", "epochs"]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise Rejected(
                "period_invalid", f"a period must be at least 1 of its {self.unit}, not {self.count}"
            )


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a training.

    Attributes:
        step: Batches trained.
        epoch: Whole epochs trained.
        is_at_epochs_end: Whether the last batch completed an epoch: its last batch, or the first batch after an epoch whose rest was
            skipped.
    """

    step: int
    epoch: int
    is_at_epochs_end: bool

    def after_batch(self, epoch: int) -> "Progress":
        """Return the progress one batch later, in or at the start of that epoch."""
        return Progress(self.step + 1, epoch, is_at_epochs_end=epoch > self.epoch)

    def has_reached(self, period: Period) -> bool:
        """Return whether at least this much was trained."""
        return (self.step if period.unit == "batches" else self.epoch) >= period.count

    def is_due(self, period: Period) -> bool:
        """Return whether the last batch completed another such period."""
        if period.unit == "batches":
            return self.step % period.count == 0
        return self.is_at_epochs_end and self.epoch % period.count == 0


START = Progress(0, 0, is_at_epochs_end=False)


def batches(count: int) -> Period:
    """Return a period of batches; a batch is what all ranks train in one optimizer step."""
    return Period(count, "batches")


def epochs(count: int) -> Period:
    """Return a period of epochs: passes over the whole training data."""
    return Period(count, "epochs")
