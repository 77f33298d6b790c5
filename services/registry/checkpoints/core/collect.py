"""Which checkpoints may go: Determined's rule, and what is never touched."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class CollectionPolicy:
    """How many checkpoints survive the end of an experiment; the three sets are united."""

    save_experiment_best: int = 0
    save_trial_best: int = 1
    save_trial_latest: int = 1


@dataclass(frozen=True, slots=True)
class CollectionCandidate:
    """A saved checkpoint with what decides about it.

    Attributes:
        order: its place in time within the trial (token, step); higher is newer.
        metric: the searcher's metric at its step, None without a validation there.
        validation: number of that validation, which breaks ties (lower first).
    """

    checkpoint: UUID
    trial: UUID
    order: tuple[int, int]
    metric: float | None
    validation: int = 0


class RetentionVerdict(StrEnum):
    """Why a checkpoint stays, or that it goes."""

    goes = "goes"
    registered = "registered"
    pinned = "in use"
    trial_latest = "trial latest"
    trial_best = "trial best"
    experiment_best = "experiment best"


@dataclass(frozen=True, slots=True)
class Pins:
    """What must stay, each with its reason: `pinned` by wanted or parked trials, `registered` by model versions."""

    pinned: frozenset[UUID] = frozenset()
    registered: frozenset[UUID] = frozenset()

    def why(self, checkpoint: UUID) -> RetentionVerdict | None:
        """Return which of the reasons applies."""
        if checkpoint in self.registered:
            return RetentionVerdict.registered
        return RetentionVerdict.pinned if checkpoint in self.pinned else None


def judge_checkpoints(
    checkpoints: Sequence[CollectionCandidate],
    policy: CollectionPolicy,
    pins: Pins,
    *,
    smaller_is_better: bool,
) -> dict[UUID, RetentionVerdict]:
    """Return what becomes of each checkpoint, in the order of their ids.

    One goes when ((its rank in the experiment > `save_experiment_best` and its rank in the trial > `save_trial_best`)
    or it has no searcher metric) and its recency in the trial > `save_trial_latest` (Determined 0.38). Ranks are over
    the metric with its sign; NaN counts as worst of those that have one, without a metric after all; ties by
    the validation's number, then the id. A pinned or registered one never goes.
    """
    in_experiment = _ranks(checkpoints, smaller_is_better)
    trials = _by_trial(checkpoints)
    in_trial: dict[UUID, int] = {}
    recency: dict[UUID, int] = {}
    for members in trials.values():
        in_trial |= _ranks(members, smaller_is_better)
        newest = sorted(members, key=lambda one: (one.order, one.checkpoint), reverse=True)
        recency |= {one.checkpoint: rank for rank, one in enumerate(newest, start=1)}

    def judge(one: CollectionCandidate) -> RetentionVerdict:
        if held := pins.why(one.checkpoint):
            return held
        if recency[one.checkpoint] <= policy.save_trial_latest:
            return RetentionVerdict.trial_latest
        if one.metric is not None and in_trial[one.checkpoint] <= policy.save_trial_best:
            return RetentionVerdict.trial_best
        if one.metric is not None and in_experiment[one.checkpoint] <= policy.save_experiment_best:
            return RetentionVerdict.experiment_best
        return RetentionVerdict.goes

    return {one.checkpoint: judge(one) for one in sorted(checkpoints, key=lambda one: one.checkpoint)}


def _ranks(checkpoints: Sequence[CollectionCandidate], smaller_is_better: bool) -> dict[UUID, int]:
    def place(one: CollectionCandidate) -> tuple[int, float, int, UUID]:
        if one.metric is None:
            return 2, 0.0, one.validation, one.checkpoint
        if math.isnan(one.metric):
            return 1, 0.0, one.validation, one.checkpoint
        return (
            0,
            one.metric if smaller_is_better else -one.metric,
            one.validation,
            one.checkpoint,
        )

    return {one.checkpoint: rank for rank, one in enumerate(sorted(checkpoints, key=place), start=1)}


def _by_trial(checkpoints: Sequence[CollectionCandidate]) -> dict[UUID, list[CollectionCandidate]]:
    trials: dict[UUID, list[CollectionCandidate]] = {}
    for one in checkpoints:
        trials.setdefault(one.trial, []).append(one)
    return trials
