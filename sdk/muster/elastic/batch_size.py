"""Which batch size trains fastest now: steps a second times what a step teaches (goodput; Pollux, OSDI 2021, sections 3 and 4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.elastic.gradient_noise import NoiseScale

CANDIDATES = 40
GROWTH = 2
"""A batch is at most so many times the largest that was tried: predictions further out are guesses."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a script allows its batches to be, in samples.

    Attributes:
        first: The total batch size that it was written for; smaller ones are not used.
        last: The largest total batch size.
        least_per_rank: Fewer on a rank are not worth a step.
        most_per_rank: More do not fit into its memory.
    """

    first: int
    last: int
    least_per_rank: int
    most_per_rank: int


def split(total: float, ranks: int, limits: BatchLimits) -> int:
    """The samples of each rank for a total batch size: rounded up, within what a rank may have and the largest total."""
    share = min(-(-int(total) // ranks), limits.most_per_rank, limits.last // ranks)
    return max(share, limits.least_per_rank, 1)


def choose_per_rank(noise: NoiseScale, limits: BatchLimits, ranks: int, step_s: Mapping[int, float]) -> int:
    """The samples of each rank with which the training gets on fastest; ties go to the smaller batch.

        goodput(m) = gain(m · ranks) / (a + b · m)

    with a and b from the seconds of a step by samples per rank (`step_s`), as measured with so many ranks. While one batch size alone was
    measured, half of its time is taken to be constant, so that a larger one is tried. Without a known noise it is the first batch size.
    """
    first = split(limits.first, ranks, limits)
    if not noise.is_known or not step_s:
        return first
    constant, each = _fit(step_s)
    top = min(split(limits.last, ranks, limits), max(first, GROWTH * max(step_s)))
    best, fastest = first, 0.0
    for index in range(CANDIDATES):
        per_rank = round(first * (top / first) ** (index / (CANDIDATES - 1)))
        goodput = noise.gain(per_rank * ranks, limits.first) / (constant + each * per_rank)
        if goodput > fastest * (1 + 1e-9):
            best, fastest = per_rank, goodput
    return best


def _fit(step_s: Mapping[int, float]) -> tuple[float, float]:
    """Least squares of seconds = constant + each · samples, neither negative."""
    if len(step_s) == 1:
        ((samples, seconds),) = step_s.items()
        return seconds / 2, seconds / 2 / samples
    mean_x, mean_y = sum(step_s) / len(step_s), sum(step_s.values()) / len(step_s)
    spread = sum((x - mean_x) ** 2 for x in step_s)
    each = sum((x - mean_x) * (y - mean_y) for x, y in step_s.items()) / spread
    constant = mean_y - each * mean_x
    if each <= 0:
        return mean_y, 0.0
    if constant <= 0:
        return 0.0, sum(x * y for x, y in step_s.items()) / sum(x * x for x in step_s)
    return constant, each
