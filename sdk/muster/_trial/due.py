"""When a checkpoint is due, by the experiment's `checkpoint_policy` and `min_checkpoint_period`. Pure."""

import math
from collections.abc import Mapping


class Due:
    """What rank 0 knows of it.

    Args:
        policy: `best`: a validation better than all before it in the trial makes one due; `all`: every one; `none`: none does.
        period: As far as it may train without a checkpoint, in whatever the calls below say how far it is; None for any distance.
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

    def on_validation(self, values: Mapping[str, float]) -> None:
        """A validation was reported; one without the metric, or with NaN, beats none."""
        found = self._sign * values.get(self._metric, math.nan if self._metric else -math.inf)
        is_best = found < self._best or not self._metric
        if is_best:
            self._best = found
        if self._asks_validations and (is_best or not self._is_best_only):
            self._is_wanted = True

    def on_saved(self, step: int, far: float | None) -> None:
        """A checkpoint of this step is complete; the trial is so far, None where that is not known."""
        self._since, self._saved = far, step
        self._is_wanted = False

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
        return far - self._since >= self._period
