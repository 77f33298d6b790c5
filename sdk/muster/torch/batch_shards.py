"""Sharding of batches over ranks. The script's loader defines the batch, independent of the number of ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset

from muster.errors import Rejected
from muster.torch.shard import ShardInfo

Loader = DataLoader[Any]


@dataclass(frozen=True, slots=True)
class BatchShard:
    """Samples of one rank for one pass.

    Attributes:
        content: The samples, collated by the loader.
        samples: Number of samples.
        weight: Factor for the mean loss of the chunk: averaged over the ranks and summed over the passes, the weighted losses give
            the mean over the batch.
        is_last: Whether this is the last pass of the batch.
    """

    content: Any
    samples: int
    weight: float
    is_last: bool


class BatchSharder:
    """This rank's chunks of a loader's batches, over epochs; resumes in the middle of an epoch, also with another number of ranks.

    The loader's sampler defines the order of an epoch, seeded with the trial's seed and the epoch: equal on all ranks and in
    all runs. Each rank takes every `size`-th sample of a batch, cut into `passes` chunks. A last batch with fewer samples than
    ranks is skipped.

    Args:
        loader: The script's loader, not sharded: its batch is that of all ranks.
        place: The trial.
        passes: Forward and backward passes per batch.

    Raises:
        Rejected: The loader's batches cannot be sharded.
    """

    def __init__(self, loader: Loader, place: ShardInfo, passes: int = 1) -> None:
        _check(loader)
        self._loader, self._place, self._passes = loader, place, passes
        self.check_ranks()
        self.epoch = 0
        self._batch = 0

    @property
    def is_at_epochs_end(self) -> bool:
        return self._batch == 0

    def __iter__(self) -> Iterator[Iterator[BatchShard]]:
        """Yield the rest of the epoch, batch by batch; consume the chunks of a batch before the next batch.

        If only a last batch is left that is too small for the current ranks, yield the next epoch.
        """
        plan = self._plan()
        if self._batch >= len(plan):
            self.epoch, self._batch = self.epoch + 1, 0
            plan = self._plan()
        for parts in self._load(plan[self._batch :]):
            self._batch += 1
            if self._batch == len(plan):
                self.epoch, self._batch = self.epoch + 1, 0
            yield parts

    def once(self) -> Iterator[BatchShard]:
        """Yield the chunks of all batches once, for validation."""
        for parts in self._load(self._order()):
            yield from parts

    def check_ranks(self) -> None:
        """Check that a batch has at least one sample per rank.

        Raises:
            Rejected: There are more ranks than samples.
        """
        size, length = self._place.size, len(self._loader.dataset)  # type: ignore[arg-type]
        fewest = min(self._loader.batch_size or size, length)
        if fewest < size:
            raise Rejected(
                "batch_too_small",
                f"a batch of {fewest} samples cannot be split over {size} ranks",
                hint="set the loader's batch_size to at least one sample per slot",
                place="batch_size",
            )

    def state_dict(self) -> dict[str, int]:
        """Return the progress."""
        return {"epoch": self.epoch, "batch": self._batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume from this progress."""
        self.epoch, self._batch = state["epoch"], state["batch"]

    def _plan(self) -> list[list[int]]:
        return [whole for whole in self._order() if len(whole) >= self._place.size]

    def _order(self) -> list[list[int]]:
        """Return the batches of the epoch. The script's own generator is reseeded, so that the order is reproducible.

        `torch.manual_seed` would also seed the GPUs, whose random numbers belong to the training.
        """
        own = getattr(self._loader.sampler, "generator", None)
        seed = (self._place.seed * 1_000_003 + self.epoch) % 2**63
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            if own is not None:
                own.manual_seed(seed)
            return [list(batch) for batch in self._loader.batch_sampler or ()]

    def _load(self, plan: Sequence[list[int]]) -> Iterator[Iterator[BatchShard]]:
        cut = [self._cut(whole) for whole in plan]
        contents = iter(_with_batches(self._loader, [part for parts in cut for part in parts]))
        for whole, parts in zip(plan, cut, strict=True):
            yield self._parts(contents, whole, parts)

    def _cut(self, whole: Sequence[int]) -> list[list[int]]:
        mine = list(whole[self._place.rank :: self._place.size])
        each = -(-len(mine) // self._passes)
        return [mine[start : start + each] for start in range(0, len(mine), each or 1)]

    def _parts(
        self, contents: Iterator[Any], whole: Sequence[int], parts: Sequence[Sequence[int]]
    ) -> Iterator[BatchShard]:
        for number, part in enumerate(parts, start=1):
            weight = len(part) * self._place.size / len(whole)
            yield BatchShard(next(contents), len(part), weight, number == len(parts))


def _check(loader: Loader) -> None:
    if isinstance(loader.dataset, IterableDataset) or loader.batch_sampler is None:
        raise Rejected(
            "loader_unshared",
            "this loader has no batch sampler over an indexed dataset, so its batches cannot be sharded or resumed",
            hint="use a dataset with __len__ and __getitem__, and set batch_size",
        )
    if isinstance(loader.sampler, DistributedSampler):
        raise Rejected(
            "loader_sharded",
            "this loader is already sharded; the Trainer shards batches itself",
            hint="remove its DistributedSampler",
        )


def _with_batches(loader: Loader, plan: list[list[int]]) -> Loader:
    """Return the script's loader over other batches. Worker seeds come from a separate generator, so that the script's is unchanged."""
    return DataLoader(
        loader.dataset,
        batch_sampler=plan,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        prefetch_factor=loader.prefetch_factor,
        generator=torch.Generator().manual_seed(0),
    )
