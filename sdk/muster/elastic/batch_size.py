"""Choice of the batch size with the highest goodput: steps per second times the gain of a step (Pollux, OSDI 2021, sections 3 and 4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.elastic.gradient_noise import NoiseScale

CANDIDATES = 40
GROWTH = 2
"""Maximum ratio of a batch to the largest one tried, because predictions further out are unreliable."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of a script's batch sizes, in samples.

    Attributes:
        first: Total batch size that the script was written for; smaller ones are not used.
        last: Largest total batch size.
        least_per_rank: Smallest useful batch of a rank.
        most_per_rank: Largest batch that fits into a rank's memory.
    """

    first: int
    last: int
    least_per_rank: int
    most_per_rank: int


def split(total: float, ranks: int, limits: BatchLimits) -> int:
    """Return the samples per rank for a total batch size, rounded up, within the limits."""
    share = min(-(-int(total) // ranks), limits.most_per_rank, limits.last // ranks)
    return max(share, limits.least_per_rank, 1)


def choose_per_rank(noise: NoiseScale, limits: BatchLimits, ranks: int, step_s: Mapping[int, float]) -> int:
    """Return the samples per rank with the highest goodput; ties go to the smaller batch.

        goodput(m) = gain(m · ranks) / (a + b · m)

    a and b are fitted to the seconds per step by samples per rank (`step_s`), measured with this number of ranks. If only one
    batch size was measured, half of its time is assumed constant, so that a larger one is tried. Until the noise scale is
    known, the first batch size is returned.
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
    """Fit seconds = constant + each · samples by least squares, with neither negative."""
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
