"""Goodput: steps per second times the progress per step, and the batch size that maximises it (Pollux, sections
3 and 4.1)."""

from dataclasses import dataclass

import numpy as np

from services.scheduler.core.state.indexes.elastic.throughput import Floats, Ints, Throughput

CANDIDATES = 40
"""Batch sizes tried between the smallest possible and the largest allowed, in geometric steps."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The batch sizes that a run allows, in samples.

    Attributes:
        first_batch: The total batch size that the script was written for; smaller ones are not used.
        last_batch: The largest total batch size.
        least_per_slot: The minimum number of samples per slot.
        most_per_slot: The maximum that fits into a slot's memory; larger batches are computed in several rounds
            between two synchronisations.
    """

    first_batch: int
    last_batch: int
    least_per_slot: int
    most_per_slot: int

    @property
    def most_slots(self) -> int:
        """The largest number of slots that all receive samples."""
        return max(1, self.last_batch // self.least_per_slot)


@dataclass(frozen=True, slots=True)
class GradientNoise:
    """The gradient noise that a run has measured: the squared norm of the gradient, and its variance at
    `first_batch`."""

    grad_sqr: float
    grad_var: float

    def gain(self, batch: Ints, first_batch: int) -> Floats:
        """Return the progress of a step with `batch` samples, in steps of the first batch size: from 1 to batch
        / first_batch.

        This is Pollux's statistical efficiency (section 3.1) times batch / first_batch.
        """
        below = self.grad_var * first_batch / batch + self.grad_sqr
        gained: Floats = np.where(below > 0, (self.grad_var + self.grad_sqr) / np.maximum(below, 1e-300), 1.0)
        return gained


@dataclass(frozen=True, slots=True)
class BatchSplit:
    """A split batch: samples per slot, and rounds between two synchronisations."""

    per_slot: int
    rounds: int = 1

    def total(self, slots: int) -> int:
        return self.per_slot * self.rounds * slots


@dataclass(frozen=True, slots=True)
class Predicted:
    """The best batch for each of several allocations, and its goodput in steps of the first batch size per
    second. Arrays."""

    goodput: Floats
    per_slot: Ints
    rounds: Ints


def split_batch(batch: int, slots: int, limits: BatchLimits) -> BatchSplit:
    """Splits a total batch size evenly, rounded up to whole samples but not beyond the last batch size.

    A single slot takes at least two rounds for more than the first batch size: gradient noise is estimated from the differences between
    parts of a batch (Pollux, section 4.1).
    """
    share = -(-batch // slots)
    rounds = -(-share // limits.most_per_slot)
    if slots == 1 and batch > limits.first_batch:
        rounds = max(2, rounds)
    per_slot = min(-(-share // rounds), limits.last_batch // (slots * rounds))
    return BatchSplit(max(1, per_slot), rounds)


def predict_goodput(
    model: Throughput, noise: GradientNoise, limits: BatchLimits, machines: Ints, slots: Ints
) -> Predicted:
    """Return the best batch for each (machines, slots), one-dimensional arrays of equal length; goodput is 0 if
    no batch is allowed.

    As in Pollux (section 4.1), total batch sizes are sampled in geometric steps and split as in `split_batch`.
    Ties go to the smaller batch.
    """
    lowest = np.maximum(limits.first_batch, limits.least_per_slot * slots).astype(np.float64)
    steps = np.linspace(0.0, 1.0, CANDIDATES)[:, None]
    share = lowest * (limits.last_batch / lowest) ** steps / slots
    rounds = np.ceil(share / limits.most_per_slot - 1e-8).astype(np.int64)
    is_noisy = (slots == 1) & (share > limits.first_batch * (1 + 1e-8))
    rounds = np.where(is_noisy, np.maximum(rounds, 2), rounds)
    per_slot = np.ceil(share / rounds - 1e-8).astype(np.int64)
    per_slot = np.minimum(per_slot, limits.last_batch // (slots * rounds))
    is_allowed = (per_slot >= limits.least_per_slot) & (per_slot <= limits.most_per_slot)
    batch = np.maximum(per_slot * rounds * slots, 1)
    rate = noise.gain(batch, limits.first_batch) / model.step_s(machines, slots, per_slot, rounds)
    goodput = np.where(is_allowed, rate, 0.0)
    best = np.argmax(goodput, axis=0), np.arange(len(slots))
    return Predicted(goodput[best], per_slot[best], rounds[best])
