"""When a checkpoint is due, by the experiment's `checkpoint_policy` and `min_checkpoint_period`. Pure."""

import math
from collections.abc import Mapping


class Due:
    """What rank 0 knows of it.

    Args:
        policy: `best`: a validation better than all before it in this run makes one due; `all`: every one; `none`: none does.
        period_steps: As far as it may train without a checkpoint; None for any distance.
        metric: The searcher's; without one every validation counts as better.
        smaller_is_better: Which way it goes.
    """

    def __init__(
        self, policy: str, period_steps: int | None, metric: str, *, smaller_is_better: bool
    ) -> None:
        self._asks_validations = policy != "none"
        self._is_best_only = policy == "best"
        self._period_steps = period_steps
        self._metric = metric
        self._sign = 1.0 if smaller_is_better else -1.0
        self._best = math.inf
        self._since: int | None = None
        self._saved: int | None = None
        self._is_wanted = False

    def on_validation(self, values: Mapping[str, float]) -> None:
        """A validation was reported; one without the metric, or with NaN, beats none."""
        found = self._sign * values.get(self._metric, math.nan if self._metric else -math.inf)
        is_best = found < self._best or not self._metric
        if is_best:
            self._best = found
        if self._asks_validations and (is_best or not self._is_best_only):
            self._is_wanted = True

    def on_saved(self, step: int) -> None:
        """A checkpoint of this step is complete."""
        self._since = self._saved = step
        self._is_wanted = False

    def begin(self, step: int) -> None:
        """Count the period from there, unless a checkpoint or an earlier call has begun it."""
        if self._since is None:
            self._since = step

    def may_be_due(self, *, is_validated: bool) -> bool:
        """Whether it needs a look at all; by the experiment's config alone, so that ranks need not ask each other where it does not."""
        return self._period_steps is not None or (is_validated and self._asks_validations)

    def is_due(self, step: int, *, is_ending: bool) -> bool:
        """Whether a checkpoint of this step is due; at the end, whenever something was trained since the last."""
        return step != self._saved and (is_ending or self._is_wanted or self._is_overdue(step))

    def _is_overdue(self, step: int) -> bool:
        if self._period_steps is None or self._since is None:
            return False
        return step - self._since >= self._period_steps
