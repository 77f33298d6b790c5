"""How often something is done: every so many batches, or every so many epochs."""

from dataclasses import dataclass
from typing import Literal

from muster.errors import Rejected


@dataclass(frozen=True, slots=True)
class Period:
    """A number of batches or of epochs, at least 1."""

    count: int
    unit: Literal["batches", "epochs"]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise Rejected(
                "period_invalid", f"a period has at least one of its {self.unit}, not {self.count}"
            )


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a training stands.

    Attributes:
        step: Batches trained.
        epoch: Whole epochs trained.
        is_at_epochs_end: With the last batch an epoch was through: it was its last one, or the first after one whose rest was left out.
    """

    step: int
    epoch: int
    is_at_epochs_end: bool

    def after_batch(self, epoch: int) -> "Progress":
        """One batch further, in or at the beginning of that epoch."""
        return Progress(self.step + 1, epoch, is_at_epochs_end=epoch > self.epoch)

    def has_reached(self, period: Period) -> bool:
        """Whether so much was trained."""
        return (self.step if period.unit == "batches" else self.epoch) >= period.count

    def is_due(self, period: Period) -> bool:
        """Whether the last batch completed another such period."""
        if period.unit == "batches":
            return self.step % period.count == 0
        return self.is_at_epochs_end and self.epoch % period.count == 0


START = Progress(0, 0, is_at_epochs_end=False)


def batches(count: int) -> Period:
    """So many batches; a batch is what all ranks together train in one step of the optimizer."""
    return Period(count, "batches")


def epochs(count: int) -> Period:
    """So many times the whole of the training data."""
    return Period(count, "epochs")
