"""Rank, size and seed by which data are sharded."""

from typing import Protocol


class ShardInfo(Protocol):
    """Rank, number of ranks and seed, as in `muster.Trial`."""

    rank: int
    size: int
    seed: int
