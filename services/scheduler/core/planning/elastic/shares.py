"""How many slots each elastic run gets: where they speed up most, in fair proportion (after Pollux, section 4.2)."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.scheduler.core.state.indexes.elastic.throughput import Floats

FAIRNESS = 1.0
"""Exponent of alpha-fairness: 0 adds up speed-ups, 1 their logarithms (proportional fairness), 2 is Pollux's p = -1."""
LEAST_SPEEDUP = 1e-3


@dataclass(frozen=True, slots=True)
class Claim:
    """What a run could do with slots.

    Attributes:
        sizes: Numbers of slots that it may have, rising; the first is its minimum.
        speedups: How much faster it would be with each of them, by its own measure: only proportions count.
        held: The slots that it has; 0: none.
        after_resize: Part of the speed-up that is left when the pause of a resize is counted; 1: it costs nothing.
        weight: How much its speed-up counts beside the others'.
    """

    sizes: tuple[int, ...]
    speedups: Floats
    held: int
    after_resize: float = 1.0
    weight: float = 1.0


def distribute(claims: Sequence[Claim], slots: int, fairness: float = FAIRNESS) -> list[int]:
    """The slots of each claim: first everybody's minimum, in the order given, while it fits; then step by step to whom a slot more adds
    most to the sum of weighted utilities of the speed-ups.

    A step may span several sizes, so a dip (the first slots on a second machine) is crossed when what lies behind is worth it. Ties go to
    the earlier claim. Costs O(steps · log claims).

    Where we deviate: Pollux searches allocations by a genetic algorithm for the greatest power mean of speed-ups; marginal gains on the
    upper hull reach the same optimum for a divisible sum of concave utilities, are deterministic, and need no population of states.
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
    """(minus the gain per slot, index, level to go to) of the best affordable step; None when none gains."""
    best: tuple[float, int, int] | None = None
    for target in range(level + 1, len(sizes)):
        cost = sizes[target] - sizes[level]
        if cost > slots:
            break
        gain = float(utility[target] - utility[level]) / cost
        if gain > 0 and (best is None or -gain < best[0]):
            best = (-gain, index, target)
    return best
