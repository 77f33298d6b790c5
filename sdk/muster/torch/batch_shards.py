"""What each rank takes of a batch. The script's loader says what a batch is; how many ranks share it changes nothing in that."""

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
    """What a rank trains in one pass.

    Attributes:
        content: As the loader collates it.
        samples: How many it holds.
        weight: The factor of its mean loss with which the average over the ranks, summed over the passes, is the mean over the batch.
        is_last: No further pass belongs to this batch.
    """

    content: Any
    samples: int
    weight: float
    is_last: bool


class BatchSharder:
    """This rank's parts of a loader's batches, epoch after epoch; it resumes in the middle of one, with another number of ranks too.

    The order of an epoch is the loader's own sampler's, drawn from the trial's seed and the epoch: equal on all ranks and in every
    run. Each rank takes every `size`-th sample of a batch, cut into `passes`. A last batch of fewer samples than ranks is left out.

    Args:
        loader: The script's, unsharded: its batch is that of the whole gang.
        place: The trial.
        passes: Forward and backward passes for one batch.

    Raises:
        Rejected: The loader's batches cannot be shared.
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
        """Yield what is left of the epoch, batch by batch; the parts of one are to be taken before the next.

        Where only a last batch is left that is too small for more ranks than there were, it is the next epoch.
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
        """Yield every part of every batch, as a validation needs them."""
        for parts in self._load(self._order()):
            yield from parts

    def check_ranks(self) -> None:
        """Refuse more ranks than a batch has samples for.

        Raises:
            Rejected: There are too many.
        """
        size, length = self._place.size, len(self._loader.dataset)  # type: ignore[arg-type]
        fewest = min(self._loader.batch_size or size, length)
        if fewest < size:
            raise Rejected(
                "batch_too_small",
                f"a batch of {fewest} samples cannot be shared by {size} ranks",
                hint="give the loader a batch_size of at least one sample for each slot",
                place="batch_size",
            )

    def state_dict(self) -> dict[str, int]:
        """Where it stands."""
        return {"epoch": self.epoch, "batch": self._batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from there."""
        self.epoch, self._batch = state["epoch"], state["batch"]

    def _plan(self) -> list[list[int]]:
        return [whole for whole in self._order() if len(whole) >= self._place.size]

    def _order(self) -> list[list[int]]:
        """The batches of the epoch. A generator of the script's own is seeded anew, so that its order can be had again.

        `torch.manual_seed` would seed the GPUs too, whose random numbers are the training's.
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
            "this loader does not say which samples make a batch, so its batches cannot be shared by ranks or resumed",
            hint="give it a dataset with __len__ and __getitem__, and a batch_size",
        )
    if isinstance(loader.sampler, DistributedSampler):
        raise Rejected(
            "loader_sharded",
            "the batches of this loader are one rank's already; the Trainer shares them itself",
            hint="leave its DistributedSampler out",
        )


def _with_batches(loader: Loader, plan: list[list[int]]) -> Loader:
    """The script's loader over other batches. Its workers' seeds come from a generator of their own: the script's are not moved."""
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
