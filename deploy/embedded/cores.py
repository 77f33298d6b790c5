"""Which cores of this machine the parts of a platform keep to.

The gateway is one thread, and what it starts wakes up the others: where trainings have all cores, Linux finds no free one for whoever wakes up, and
leaves all of them on the core they were woken from, behind one another, for as long as 0.2 s (decision 0247).
"""

import os
from typing import NamedTuple

Cores = frozenset[int]


class Halves(NamedTuple):
    """The cores of what stands behind the gateway, and the gateway's."""

    behind: Cores
    gateway: Cores


def halves(cores: Cores | None = None) -> Halves:
    """Of those that this process may use (or of `cores`); of one core both have it."""
    ours = sorted(os.sched_getaffinity(0) if cores is None else cores)
    behind = (len(ours) + 1) // 2
    return Halves(frozenset(ours[:behind]), frozenset(ours[behind:] or ours))
