"""A resumable loader that continues in the middle of an epoch, also with another number of ranks."""

import math
from collections.abc import Iterator, Sized
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from muster.errors import Rejected
from muster.torch.shard import ShardInfo


class ResumableLoader:
    """Batches of a dataset for one rank; each `for batch in loader` yields the rest of an epoch.

    The order of an epoch depends only on the trial's seed and the epoch; ranks take consecutive runs of `batch_size` samples.
    Progress is counted in samples of all ranks when the script receives a batch; batches prefetched by worker processes do not
    count. With `num_workers=0`, a resumed run equals an uninterrupted one; with workers, it sees the same samples, but random
    transforms in the workers differ.

    Args:
        dataset: A map-style dataset of known length.
        batch_size: Samples in one rank's batch.
        trial: The trial, for its rank, size and seed.
        shuffle: False keeps the order of the dataset.
        drop_last: Whether to drop samples that do not fill a batch on all ranks. Otherwise the last batch is smaller, and if it
            does not split evenly, ranks repeat samples from the start of the epoch, so that all have equally many batches.
        options: Other arguments of `torch.utils.data.DataLoader`: `num_workers`, `collate_fn`, `pin_memory`, …

    Attributes:
        epoch: Epoch of the next batch, from 0.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        batch_size: int,
        trial: ShardInfo,
        *,
        shuffle: bool = True,
        drop_last: bool = False,
        **options: Any,
    ) -> None:
        if not isinstance(dataset, Sized) or not len(dataset):
            raise Rejected("dataset_empty", "the dataset has no length, or is empty", place="dataset")
        if batch_size < 1:
            raise Rejected(
                "batch_size", f"batch_size must be at least 1, not {batch_size}", place="batch_size"
            )
        if drop_last and len(dataset) < batch_size * trial.size:
            raise Rejected(
                "batch_size",
                f"drop_last leaves no batch: {len(dataset)} samples do not fill a batch of {batch_size} on {trial.size} ranks",
                place="batch_size",
            )
        self._dataset, self._length = dataset, len(dataset)
        self._batch_size = batch_size
        self._trial = trial
        self._shuffle, self._drop_last = shuffle, drop_last
        self._options = options
        self.epoch = 0
        self._consumed = 0

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        together = self._batch_size * self._trial.size
        return self._length // together if self._drop_last else math.ceil(self._length / together)

    def __iter__(self) -> Iterator[Any]:
        """Yield the rest of the epoch, then move to the start of the next one."""
        if not self._together(self._consumed):  # resumed with more ranks, and the rest does not fill a batch
            self.epoch, self._consumed = self.epoch + 1, 0
        # A separate generator: the loader draws a seed for its workers, which must not change the script's random numbers.
        draws = torch.Generator().manual_seed(self._trial.seed)
        for batch in DataLoader(
            self._dataset, batch_sampler=self._mine(self._consumed), generator=draws, **self._options
        ):
            self._consumed += self._together(self._consumed)
            if not self._together(self._consumed):
                self.epoch, self._consumed = self.epoch + 1, 0
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return the progress, in samples of all ranks."""
        return {"epoch": self.epoch, "consumed": self._consumed, "samples": self._length}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Resume from this progress; the next `for` starts with the next batch.

        Raises:
            ValueError: The progress is of a dataset of another length.
        """
        if state["samples"] != self._length:
            raise ValueError(
                f"the saved state is of a dataset of {state['samples']} samples, but this dataset has {self._length}"
            )
        self.epoch, self._consumed = state["epoch"], state["consumed"]

    def _mine(self, start: int) -> Iterator[list[int]]:
        """Yield the sample indexes of this rank's batches, from there to the end of the epoch."""
        order = self._order()
        size, rank = self._trial.size, self._trial.rank
        while together := self._together(start):
            each = math.ceil(together / size)
            taken = range(start + rank * each, start + (rank + 1) * each)
            yield [int(order[at % self._length]) for at in taken]
            start += together

    def _together(self, start: int) -> int:
        """Return the number of samples that all ranks take in the next batch; 0 at the end."""
        whole, left = self._batch_size * self._trial.size, self._length - start
        return 0 if self._drop_last and left < whole else min(whole, left)

    def _order(self) -> torch.Tensor:
        if not self._shuffle:
            return torch.arange(self._length)
        draws = torch.Generator().manual_seed((self._trial.seed * 1_000_003 + self.epoch) % 2**63)
        return torch.randperm(self._length, generator=draws)
