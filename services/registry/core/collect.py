"""Which checkpoints may go: Determined's rule, and what is never touched."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Policy:
    """How many checkpoints survive the end of an experiment; the three sets are united."""

    save_experiment_best: int = 0
    save_trial_best: int = 1
    save_trial_latest: int = 1


@dataclass(frozen=True, slots=True)
class Kept:
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


@dataclass(frozen=True, slots=True)
class Pins:
    """What must stay, each with its reason: `pinned` by wanted or parked trials, `registered` by model versions."""

    pinned: frozenset[UUID] = frozenset()
    registered: frozenset[UUID] = frozenset()

    def holds(self, checkpoint: UUID) -> bool:
        """Return whether any of the reasons applies."""
        return checkpoint in self.pinned or checkpoint in self.registered


def plan_collection(
    checkpoints: Sequence[Kept], policy: Policy, pins: Pins, *, smaller_is_better: bool
) -> list[UUID]:
    """Return the checkpoints that may be deleted, in the order of their ids.

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

    def may_go(one: Kept) -> bool:
        is_best = one.metric is not None and (
            in_experiment[one.checkpoint] <= policy.save_experiment_best
            or in_trial[one.checkpoint] <= policy.save_trial_best
        )
        is_latest = recency[one.checkpoint] <= policy.save_trial_latest
        return not is_best and not is_latest and not pins.holds(one.checkpoint)

    return sorted(one.checkpoint for one in checkpoints if may_go(one))


def plan_pins(wanted_starts: Iterable[UUID], open_trials: Iterable[Sequence[Kept]]) -> frozenset[UUID]:
    """Return what is pinned: what an open trial starts from, and what a parked or running trial has newest."""
    pinned = set(wanted_starts)
    for saved in open_trials:
        newest = max(saved, key=lambda one: (one.order, one.checkpoint), default=None)
        if newest is not None:
            pinned.add(newest.checkpoint)
    return frozenset(pinned)


def _ranks(checkpoints: Sequence[Kept], smaller_is_better: bool) -> dict[UUID, int]:
    def place(one: Kept) -> tuple[int, float, int, UUID]:
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


def _by_trial(checkpoints: Sequence[Kept]) -> dict[UUID, list[Kept]]:
    trials: dict[UUID, list[Kept]] = {}
    for one in checkpoints:
        trials.setdefault(one.trial, []).append(one)
    return trials
