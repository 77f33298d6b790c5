"""How many slots each elastic run gets: where the speed-up is largest, with proportional fairness (after
Pollux, section 4.2)."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.scheduler.core.state.indexes.elastic.throughput import Floats

FAIRNESS = 1.0
"""Exponent of alpha-fairness: 0 sums speed-ups, 1 their logarithms (proportional fairness), 2 corresponds to
Pollux's p = -1."""
LEAST_SPEEDUP = 1e-3


@dataclass(frozen=True, slots=True)
class Claim:
    """The value of slots for one run.

    Attributes:
        sizes: Allowed numbers of slots, increasing; the first is its minimum.
        speedups: Its speed with each size; only ratios matter.
        held: The slots that it has; 0: none.
        after_resize: The fraction of the speed-up left after the pause of a resize; 1: a resize is free.
        weight: The weight of its speed-up relative to others.
    """

    sizes: tuple[int, ...]
    speedups: Floats
    held: int
    after_resize: float = 1.0
    weight: float = 1.0


def distribute(claims: Sequence[Claim], slots: int, fairness: float = FAIRNESS) -> list[int]:
    """Return the slots of each claim: first every minimum, in order, while it fits; then step by step to the
    claim with the largest gain per slot in the weighted sum of utilities.

    A step may span several sizes, so a dip (the first slots on a second machine) is crossed if it pays off.
    Ties go to the earlier claim. Costs O(steps · log claims).

    Deviation from Pollux: Pollux searches allocations with a genetic algorithm for the greatest power mean of
    speed-ups. Marginal gains on the upper hull reach the same optimum for a divisible sum of concave utilities,
    are deterministic, and need no population of states.
    """
    utilities = [_utility(claim, fairness) for claim in claims]
    level = [-1] * len(claims)
    for index, claim in enumerate(claims):
        if claim.sizes[0] <= slots:
            level[index] = 0
            slots -= claim.sizes[0]
    steps = [
        _best_step(claims[i].sizes, utilities[i], 0, slots, i) for i in range(len(claims)) if level[i] == 0
    ]
    heap = [step for step in steps if step is not None]
    heapq.heapify(heap)
    while heap and slots > 0:
        _, index, target = heapq.heappop(heap)
        sizes = claims[index].sizes
        cost = sizes[target] - sizes[level[index]]
        if cost <= slots:
            level[index] = target
            slots -= cost
        again = _best_step(sizes, utilities[index], level[index], slots, index)
        if again is not None:
            heapq.heappush(heap, again)
    return [claim.sizes[at] if at >= 0 else 0 for claim, at in zip(claims, level, strict=True)]


def _utility(claim: Claim, fairness: float) -> Floats:
    is_resized = np.array(claim.sizes) != claim.held
    kept = np.where(is_resized & (claim.held > 0), claim.after_resize, 1.0)
    speedups = np.maximum(claim.speedups * kept, LEAST_SPEEDUP)
    if fairness == 1.0:
        utility: Floats = np.log(speedups)
    else:
        utility = speedups ** (1 - fairness) / (1 - fairness)
    return claim.weight * utility


def _best_step(
    sizes: Sequence[int], utility: Floats, level: int, slots: int, index: int
) -> tuple[float, int, int] | None:
    """Return (minus the gain per slot, index, target level) of the best affordable step; None if no step gains."""
    best: tuple[float, int, int] | None = None
    for target in range(level + 1, len(sizes)):
        cost = sizes[target] - sizes[level]
        if cost > slots:
            break
        gain = float(utility[target] - utility[level]) / cost
        if gain > 0 and (best is None or -gain < best[0]):
            best = (-gain, index, target)
    return best
