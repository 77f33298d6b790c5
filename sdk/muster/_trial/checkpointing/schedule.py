"""When a checkpoint is due, by the experiment's `checkpoint_policy` and `min_checkpoint_period`. Pure."""

import math
from collections import deque
from collections.abc import Mapping

MAX_PENDING_CHECKPOINTS = 8
"""Of the checkpoints that went to the store, so many tell how long the next will take."""


class CheckpointSchedule:
    """What rank 0 knows of it.

    Args:
        policy: `best`: a validation better than all before it in the trial makes one due; `all`: every one; `none`: none does.
        period: As far as it may train before another checkpoint is in the store, in whatever the calls below say how far it is; None for
            any distance.
        metric: The searcher's; without one every validation counts as better.
        smaller_is_better: Which way it goes.
        best: The metric's best in the trial's runs before this one, as far as that goes on from them; None without any.
    """

    def __init__(
        self,
        policy: str,
        period: float | None,
        metric: str,
        *,
        smaller_is_better: bool,
        best: float | None = None,
    ) -> None:
        self._asks_validations = policy != "none"
        self._is_best_only = policy == "best"
        self._period = period
        self._metric = metric
        self._sign = 1.0 if smaller_is_better else -1.0
        self._best = math.inf if best is None else self._sign * best
        self._since: float | None = None
        self._saved: int | None = None
        self._is_wanted = False
        self._on_way: dict[int, tuple[float, float]] = {}
        self._leads: deque[float] = deque([0.0], MAX_PENDING_CHECKPOINTS)

    def on_validation(self, values: Mapping[str, float]) -> None:
        """A validation was reported; one without the metric, or with NaN, beats none."""
        found = self._sign * values.get(self._metric, math.nan if self._metric else -math.inf)
        is_best = found < self._best or not self._metric
        if is_best:
            self._best = found
        if self._asks_validations and (is_best or not self._is_best_only):
            self._is_wanted = True

    def on_written(self, number: int, step: int, far: float | None, now_s: float) -> None:
        """Checkpoint `number`, of this step, is written and goes to the store; the trial is so far, None where that is not known."""
        self._since, self._saved = far, step
        self._is_wanted = False
        if far is not None:
            self._on_way[number] = far, now_s

    def on_settled(self, number: int, after_s: float, far: float | None, now_s: float) -> None:
        """What was written as this checkpoint was in the store so long after; the trial is so far now."""
        if number not in self._on_way:
            return
        written_far, written_s = self._on_way[number]
        self._on_way = {other: one for other, one in self._on_way.items() if other > number}
        if far is not None and far > written_far and now_s > written_s:
            self._leads.append((far - written_far) / (now_s - written_s) * after_s)

    def begin(self, far: float | None) -> None:
        """Count the period from there, unless a checkpoint or an earlier call has begun it."""
        if self._since is None:
            self._since = far

    def may_be_due(self, *, is_validated: bool) -> bool:
        """Whether it needs a look at all; by the experiment's config alone, so that ranks need not ask each other where it does not."""
        return self._period is not None or (is_validated and self._asks_validations)

    def is_due(self, step: int, far: float | None, *, is_ending: bool) -> bool:
        """Whether a checkpoint of this step is due; at the end, whenever something was trained since the last."""
        return step != self._saved and (is_ending or self._is_wanted or self._is_overdue(far))

    def _is_overdue(self, far: float | None) -> bool:
        if self._period is None or self._since is None or far is None:
            return False
        # Until it is in the store a checkpoint protects from nothing: it begins so much earlier, twice as much as it took of late.
        lead = 2 * max(self._leads)
        return far - self._since >= max(self._period - lead, self._period / 2)
