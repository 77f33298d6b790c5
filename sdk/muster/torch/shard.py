"""What data is shared out by."""

from typing import Protocol


class ShardInfo(Protocol):
    """Which rank this is, of how many, and the trial's seed: a `muster.Trial`."""

    rank: int
    size: int
    seed: int
