"""Schedule of checkpoints by `checkpoint_policy` and `min_checkpoint_period`. Pure."""

import math
from collections import deque
from collections.abc import Mapping

MAX_PENDING_CHECKPOINTS = 8
"""Number of stored checkpoints from which the duration of the next upload is estimated."""


class CheckpointSchedule:
    """Rank 0's schedule of checkpoints.

    Args:
        policy: `best`: a validation better than all before it makes a checkpoint due; `all`: every validation does; `none`:
            no validation does.
        period: Maximum training between two stored checkpoints, in the unit of `far`; None for no maximum.
        metric: Metric of the searcher; without one, every validation counts as better.
        smaller_is_better: Direction of the metric.
        best: Best value of the metric in earlier runs that this run continues; None if there is none.
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
        """Record a validation; a validation without the metric, or with NaN, is not better."""
        found = self._sign * values.get(self._metric, math.nan if self._metric else -math.inf)
        is_best = found < self._best or not self._metric
        if is_best:
            self._best = found
        if self._asks_validations and (is_best or not self._is_best_only):
            self._is_wanted = True

    def on_written(self, number: int, step: int, far: float | None, now_s: float) -> None:
        """Record that checkpoint `number` of `step` is written and being uploaded; `far` is the progress, None if unknown."""
        self._since, self._saved = far, step
        self._is_wanted = False
        if far is not None:
            self._on_way[number] = far, now_s

    def on_settled(self, number: int, after_s: float, far: float | None, now_s: float) -> None:
        """Record that checkpoint `number` was stored after `after_s`; `far` is the progress now."""
        if number not in self._on_way:
            return
        written_far, written_s = self._on_way[number]
        self._on_way = {other: one for other, one in self._on_way.items() if other > number}
        if far is not None and far > written_far and now_s > written_s:
            self._leads.append((far - written_far) / (now_s - written_s) * after_s)

    def begin(self, far: float | None) -> None:
        """Start the period at this progress, unless it has started."""
        if self._since is None:
            self._since = far

    def may_be_due(self, *, is_validated: bool) -> bool:
        """Whether a checkpoint can be due at all. Depends only on the config, so that ranks skip unnecessary synchronization."""
        return self._period is not None or (is_validated and self._asks_validations)

    def is_due(self, step: int, far: float | None, *, is_ending: bool) -> bool:
        """Whether a checkpoint of this step is due; when ending, if anything was trained since the last one."""
        return step != self._saved and (is_ending or self._is_wanted or self._is_overdue(far))

    def _is_overdue(self, far: float | None) -> bool:
        if self._period is None or self._since is None or far is None:
            return False
        # A checkpoint protects only once it is stored: start early, by twice the longest recent upload.
        lead = 2 * max(self._leads)
        return far - self._since >= max(self._period - lead, self._period / 2)
