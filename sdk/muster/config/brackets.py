"""Sizes of Hyperband's brackets, shared by the config (to limit the number of trials) and the searcher (to create them)."""

import math
from fractions import Fraction


def bracket_sizes(max_time: int, min_time: int, divisor: float) -> tuple[tuple[int, ...], ...]:
    """Return the number of trials at each rung of each bracket, the bracket with most rungs first.

    Hyperband, algorithm 1, with R = `max_time` in units of `min_time`: bracket s, from floor(log R) down to 0, starts with
    ceil((s_max + 1) / (s + 1) * divisor^s) trials, and floor(n / divisor^i) of these n reach rung i. The arithmetic is exact.
    """
    ratio, most, units = Fraction(divisor), 0, Fraction(max_time, min_time)
    while ratio ** (most + 1) <= units:
        most += 1
    return tuple(
        tuple(int(math.ceil((most + 1) * ratio**s / (s + 1)) / ratio**i) for i in range(s + 1))
        for s in range(most, -1, -1)
    )
