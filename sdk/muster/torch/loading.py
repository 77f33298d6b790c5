"""Batches that know how far they came: a loader that goes on in the middle of an epoch, also with another number of ranks."""

import math
from collections.abc import Iterator, Sized
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from muster.errors import Rejected
from muster.torch.shard import ShardInfo


class ResumableLoader:
    """Batches of a dataset for one rank; each `for batch in loader` goes through what is left of an epoch.

    The order of an epoch follows from the trial's seed and the epoch alone; ranks take turns of `batch_size` in it. How far it came is
    counted in samples of all ranks, at the moment when the script gets a batch: what worker processes fetched ahead does not count.
    With `num_workers=0` a resumed run equals an unbroken one; with workers it sees the same samples, but random transforms in the
    workers draw anew.

    Args:
        dataset: Of known length, by index.
        batch_size: Samples of one rank's batch.
        trial: The trial: rank, size, seed.
        shuffle: False takes them in their order.
        drop_last: Leave out what fills no batch of all ranks. Else the last batch is smaller, and where it does not come out
            even, ranks repeat samples from the epoch's beginning, so that each has as many batches as the others.
        options: What `torch.utils.data.DataLoader` takes besides: `num_workers`, `collate_fn`, `pin_memory`, …

    Attributes:
        epoch: The epoch that the next batch belongs to, from 0.
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
            raise Rejected("dataset_empty", "the dataset has no length, or no sample in it", place="dataset")
        if batch_size < 1:
            raise Rejected(
                "batch_size", f"a batch has at least one sample, not {batch_size}", place="batch_size"
            )
        if drop_last and len(dataset) < batch_size * trial.size:
            raise Rejected(
                "batch_size",
                f"{len(dataset)} samples fill no batch of {batch_size} on {trial.size} ranks, and drop_last is set",
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
        """Batches of a whole epoch."""
        together = self._batch_size * self._trial.size
        return self._length // together if self._drop_last else math.ceil(self._length / together)

    def __iter__(self) -> Iterator[Any]:
        """Yield what is left of the epoch, then stand at the next one's beginning."""
        if not self._together(
            self._consumed
        ):  # resumed with more ranks, and less is left than they take together
            self.epoch, self._consumed = self.epoch + 1, 0
        # A generator of its own: the loader draws a seed for its workers, which must not move the script's random numbers.
        draws = torch.Generator().manual_seed(self._trial.seed)
        for batch in DataLoader(
            self._dataset, batch_sampler=self._mine(self._consumed), generator=draws, **self._options
        ):
            self._consumed += self._together(self._consumed)
            if not self._together(self._consumed):
                self.epoch, self._consumed = self.epoch + 1, 0
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Where it stands, in samples of all ranks."""
        return {"epoch": self.epoch, "consumed": self._consumed, "samples": self._length}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from there; the next `for` begins with the batch that was next.

        Raises:
            ValueError: It is of a dataset of another length.
        """
        if state["samples"] != self._length:
            raise ValueError(f"it is of a dataset of {state['samples']} samples; this one has {self._length}")
        self.epoch, self._consumed = state["epoch"], state["consumed"]

    def _mine(self, start: int) -> Iterator[list[int]]:
        """Indexes of this rank's batches from there to the epoch's end."""
        order = self._order()
        size, rank = self._trial.size, self._trial.rank
        while together := self._together(start):
            each = math.ceil(together / size)
            taken = range(start + rank * each, start + (rank + 1) * each)
            yield [int(order[at % self._length]) for at in taken]
            start += together

    def _together(self, start: int) -> int:
        """How many samples all ranks take in the batch that begins there; 0 at the end."""
        whole, left = self._batch_size * self._trial.size, self._length - start
        return 0 if self._drop_last and left < whole else min(whole, left)

    def _order(self) -> torch.Tensor:
        if not self._shuffle:
            return torch.arange(self._length)
        draws = torch.Generator().manual_seed((self._trial.seed * 1_000_003 + self.epoch) % 2**63)
        return torch.randperm(self._length, generator=draws)
