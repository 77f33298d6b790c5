"""What ranks take of a loader's batches: together exactly the batch, in an order that any run can have again."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, WeightedRandomSampler

from muster.errors import Rejected
from muster.torch.batch_shards import BatchShard, BatchSharder


class Numbers(Dataset[float]):
    """The sample is its index."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> float:
        return float(index)


@dataclass
class Place:
    rank: int = 0
    size: int = 1
    seed: int = 7


def epoch_of(loader: DataLoader[float], place: Place, passes: int = 1) -> list[list[BatchShard]]:
    return [list(parts) for parts in BatchSharder(loader, place, passes)]


def samples_of(parts: list[BatchShard]) -> list[float]:
    return [sample for part in parts for sample in part.content.tolist()]


@settings(max_examples=30, deadline=None)
@given(
    length=st.integers(4, 60),
    batch=st.integers(4, 20),
    size=st.integers(1, 4),
    passes=st.integers(1, 3),
    shuffle=st.booleans(),
)
def test_weighted_losses_of_all_ranks_are_the_mean_over_the_batch(
    length: int, batch: int, size: int, passes: int, shuffle: bool
) -> None:
    loader = DataLoader(Numbers(length), batch, shuffle=shuffle)
    alone = epoch_of(loader, Place())
    ranks = [epoch_of(loader, Place(rank, size), passes) for rank in range(size)]
    shared = [one for one in alone if len(samples_of(one)) >= size]
    assert [len(rank) for rank in ranks] == [len(shared)] * size
    for number, whole in enumerate(shared):
        taken = [part for rank in ranks for part in rank[number]]
        assert sorted(samples_of(taken)) == sorted(samples_of(whole))
        average = sum(float(part.content.mean()) * part.weight for part in taken) / size
        assert average == pytest.approx(float(torch.tensor(samples_of(whole)).mean()), rel=1e-5, abs=1e-6)
        assert all([part.is_last for part in rank[number]][-1] for rank in ranks)


def test_epochs_differ_and_can_be_had_again_whatever_the_random_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpus = torch.Generator().manual_seed(3)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", gpus.manual_seed)
    loader = DataLoader(Numbers(20), 5, shuffle=True)
    shares = BatchSharder(loader, Place())
    first, second = ([samples_of(list(parts)) for parts in shares] for _ in range(2))
    assert first != second
    assert gpus.initial_seed() == 3, "a GPU's random numbers, which are the script's, were moved"
    torch.manual_seed(99)
    drawn = torch.rand(1)
    torch.manual_seed(99)
    again = BatchSharder(loader, Place())
    again.load_state_dict({"epoch": 1, "batch": 0})
    assert [samples_of(list(parts)) for parts in again] == second
    assert torch.rand(1) == drawn, "the script's random numbers were moved"
    assert first != [samples_of(parts) for parts in epoch_of(loader, Place(seed=8))]


@pytest.mark.parametrize("weighted", [False, True])
def test_it_goes_on_in_the_middle_of_an_epoch_with_another_number_of_ranks(weighted: bool) -> None:
    """A sampler with a generator of its own included: where that one stands makes no difference."""
    own = torch.Generator()
    sampler = WeightedRandomSampler([1.0] * 24, 24, generator=own) if weighted else None
    loader = DataLoader(Numbers(24), 6, shuffle=not weighted, sampler=sampler, generator=own)
    whole = [samples_of(list(parts)) for parts in BatchSharder(loader, Place())]
    shares = BatchSharder(loader, Place(0, 2))
    begun: Iterator[Iterator[BatchShard]] = iter(shares)
    list(next(begun))
    state = shares.state_dict()
    ranks = [BatchSharder(loader, Place(rank, 3)) for rank in range(3)]
    for one in ranks:
        one.load_state_dict(state)
    resumed = [[sorted(samples_of(list(parts))) for parts in one] for one in ranks]
    assert [sorted(chain(*parts)) for parts in zip(*resumed, strict=True)] == [
        sorted(one) for one in whole[1:]
    ]
    assert [one.state_dict() for one in ranks] == [{"epoch": 1, "batch": 0}] * 3


def test_a_last_batch_that_is_too_small_for_more_ranks_than_there_were_is_left_out() -> None:
    loader = DataLoader(Numbers(8), 6, shuffle=True)
    following = BatchSharder(loader, Place())
    following.load_state_dict({"epoch": 1, "batch": 0})
    ranks = [BatchSharder(loader, Place(rank, 3)) for rank in range(3)]
    for one in ranks:
        one.load_state_dict({"epoch": 0, "batch": 1})
    taken = [sample for one in ranks for sample in samples_of(list(next(iter(one))))]
    assert sorted(taken) == sorted(samples_of(list(next(iter(following)))))


def test_what_the_loader_was_given_is_kept() -> None:
    loader = DataLoader(Numbers(6), 3, collate_fn=lambda found: torch.tensor(found) * 10, num_workers=1)
    assert [samples_of(parts) for parts in epoch_of(loader, Place())] == [[0, 10, 20], [30, 40, 50]]


def test_a_validation_takes_every_sample_even_where_ranks_get_none() -> None:
    loader = DataLoader(Numbers(7), 3)
    taken = [
        sample
        for rank in range(3)
        for sample in samples_of(list(BatchSharder(loader, Place(rank, 3)).once()))
    ]
    assert sorted(taken) == [0, 1, 2, 3, 4, 5, 6]


class Endless(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(10**9))


@pytest.mark.parametrize(
    ("loader", "says"),
    [
        (DataLoader(Endless(), 4), "no batch sampler"),
        (DataLoader(Numbers(4), batch_size=None), "no batch sampler"),
        (
            DataLoader(Numbers(4), 2, sampler=DistributedSampler(Numbers(4), 2, 0)),
            "remove its DistributedSampler",
        ),
        (DataLoader(Numbers(9), 1), "at least one sample per slot"),
        (DataLoader(Numbers(1), 8), "a batch of 1 samples cannot be split over 2 ranks"),
    ],
)
def test_a_loader_that_cannot_be_shared_is_refused_with_what_to_do(
    loader: DataLoader[float], says: str
) -> None:
    with pytest.raises(Rejected, match=says):
        BatchSharder(loader, Place(0, 2))
