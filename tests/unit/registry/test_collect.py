"""Collection: Determined's rule, and what is never touched."""

import math
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from services.registry.checkpoints.core.collect import (
    CollectionCandidate,
    CollectionPolicy,
    Pins,
    RetentionVerdict,
    judge_checkpoints,
)


def _kept(number: int, trial: int, step: int, metric: float | None) -> CollectionCandidate:
    return CollectionCandidate(UUID(int=number), UUID(int=trial), (1, step), metric, validation=step)


def plan_collection(
    checkpoints: list[CollectionCandidate], policy: CollectionPolicy, pins: Pins, *, smaller_is_better: bool
) -> list[UUID]:
    verdicts = judge_checkpoints(checkpoints, policy, pins, smaller_is_better=smaller_is_better)
    return [one for one, verdict in verdicts.items() if verdict is RetentionVerdict.unneeded]


ONE_TRIAL = [
    _kept(1, 9, 10, 0.5),
    _kept(2, 9, 20, 0.1),
    _kept(3, 9, 30, 0.3),
    _kept(4, 9, 40, None),
]


@pytest.mark.parametrize(
    ("policy", "deleted"),
    [
        (CollectionPolicy(), [1, 3]),
        (CollectionPolicy(0, 0, 0), [1, 2, 3, 4]),
        (CollectionPolicy(0, 0, 1), [1, 2, 3]),
        (CollectionPolicy(2, 0, 0), [1, 4]),
        (CollectionPolicy(0, 3, 0), [4]),
        (CollectionPolicy(0, 0, 2), [1, 2]),
        (CollectionPolicy(9, 9, 9), []),
    ],
)
def test_best_and_latest_are_kept(policy: CollectionPolicy, deleted: list[int]) -> None:
    plan = plan_collection(ONE_TRIAL, policy, Pins(), smaller_is_better=True)
    assert plan == [UUID(int=number) for number in deleted]


def test_the_sign_turns_the_ranks_round() -> None:
    assert plan_collection(ONE_TRIAL, CollectionPolicy(0, 1, 0), Pins(), smaller_is_better=False) == [
        UUID(int=number) for number in (2, 3, 4)
    ]


def test_a_nan_is_worse_than_any_number_and_better_than_nothing() -> None:
    checkpoints = [
        _kept(1, 9, 10, math.nan),
        _kept(2, 9, 20, 1e300),
        _kept(3, 9, 30, None),
    ]
    assert plan_collection(checkpoints, CollectionPolicy(0, 1, 0), Pins(), smaller_is_better=True) == [
        UUID(int=1),
        UUID(int=3),
    ]


def test_the_earlier_validation_wins_a_tie() -> None:
    checkpoints = [_kept(2, 9, 20, 0.5), _kept(1, 9, 10, 0.5)]
    assert plan_collection(checkpoints, CollectionPolicy(0, 1, 0), Pins(), smaller_is_better=True) == [
        UUID(int=2)
    ]


def test_pinned_and_registered_ones_stay() -> None:
    pins = Pins(frozenset({UUID(int=1)}), frozenset({UUID(int=3)}))
    assert plan_collection(ONE_TRIAL, CollectionPolicy(0, 0, 0), pins, smaller_is_better=True) == [
        UUID(int=2),
        UUID(int=4),
    ]


_checkpoints = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 9), st.none() | st.floats()),
    max_size=12,
).map(
    lambda rows: [_kept(100 + index, trial, step, metric) for index, (trial, step, metric) in enumerate(rows)]
)
_policies = st.builds(CollectionPolicy, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@given(_checkpoints, _policies, st.booleans())
def test_each_trial_keeps_its_best_and_latest(
    checkpoints: list[CollectionCandidate], policy: CollectionPolicy, smaller: bool
) -> None:
    deleted = set(plan_collection(checkpoints, policy, Pins(), smaller_is_better=smaller))
    for trial in {one.trial for one in checkpoints}:
        members = [one for one in checkpoints if one.trial == trial]
        left = [one for one in members if one.checkpoint not in deleted]
        assert len(left) >= min(len(members), policy.save_trial_latest)
        scored = [one for one in members if one.metric is not None]
        assert sum(one.metric is not None for one in left) >= min(len(scored), policy.save_trial_best)


@given(_checkpoints, _policies, st.booleans())
def test_collecting_again_takes_nothing_more(
    checkpoints: list[CollectionCandidate], policy: CollectionPolicy, smaller: bool
) -> None:
    deleted = set(plan_collection(checkpoints, policy, Pins(), smaller_is_better=smaller))
    left = [one for one in checkpoints if one.checkpoint not in deleted]
    assert plan_collection(left, policy, Pins(), smaller_is_better=smaller) == []


def test_each_that_stays_has_its_reason() -> None:
    pins = Pins(pinned=frozenset({UUID(int=1)}), registered=frozenset({UUID(int=4)}))
    verdicts = judge_checkpoints(ONE_TRIAL, CollectionPolicy(2, 1, 0), pins, smaller_is_better=True)
    assert list(verdicts.values()) == [
        RetentionVerdict.pinned, RetentionVerdict.trial_best, RetentionVerdict.experiment_best, RetentionVerdict.registered,
    ]  # fmt: skip
