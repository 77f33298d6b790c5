"""Retention rule of checkpoints (Determined's), and what is never deleted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class CollectionPolicy:
    """How many checkpoints survive the end of an experiment. A checkpoint is kept if any of the three rules keeps it."""

    save_experiment_best: int = 0
    save_trial_best: int = 1
    save_trial_latest: int = 1


@dataclass(frozen=True, slots=True)
class CollectionCandidate:
    """A saved checkpoint with the data that decides about it.

    Attributes:
        order: Position in time within the trial (token, step); higher is newer.
        metric: The searcher's metric at its step; None without a validation there.
        validation: Number of that validation, which breaks ties (lower first).
    """

    checkpoint: UUID
    trial: UUID
    order: tuple[int, int]
    metric: float | None
    validation: int = 0


class RetentionVerdict(StrEnum):
    """Why a checkpoint is kept, or that it is deleted."""

    unneeded = "unneeded"
    registered = "registered"
    pinned = "in use"
    trial_latest = "trial latest"
    trial_best = "trial best"
    experiment_best = "experiment best"


@dataclass(frozen=True, slots=True)
class Pins:
    """Checkpoints that must be kept: `pinned` by open trials, `registered` by model versions."""

    pinned: frozenset[UUID] = frozenset()
    registered: frozenset[UUID] = frozenset()

    def why(self, checkpoint: UUID) -> RetentionVerdict | None:
        """Return the reason that applies to a checkpoint; None if none does."""
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
    """Return the verdict on each checkpoint, ordered by id.

    A checkpoint is deleted if (its rank in the experiment > `save_experiment_best` and its rank in the trial > `save_trial_best`,
    or it has no searcher metric) and its recency in the trial > `save_trial_latest` (Determined 0.38). Ranks are by the
    metric in the search's direction. NaN ranks below all numbers, and a missing metric below NaN. Ties are broken by the
    validation's number, then the id. Pinned and registered checkpoints are never deleted.
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
        return RetentionVerdict.unneeded

    return {one.checkpoint: judge(one) for one in sorted(checkpoints, key=lambda one: one.checkpoint)}


def _ranks(checkpoints: Sequence[CollectionCandidate], smaller_is_better: bool) -> dict[UUID, int]:
    def rank_key(one: CollectionCandidate) -> tuple[int, float, int, UUID]:
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

    return {one.checkpoint: rank for rank, one in enumerate(sorted(checkpoints, key=rank_key), start=1)}


def _by_trial(checkpoints: Sequence[CollectionCandidate]) -> dict[UUID, list[CollectionCandidate]]:
    trials: dict[UUID, list[CollectionCandidate]] = {}
    for one in checkpoints:
        trials.setdefault(one.trial, []).append(one)
    return trials
