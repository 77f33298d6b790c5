"""Methods without early stopping: `single`, `random` and `grid` let each trial run to its end."""

from collections.abc import Sequence

from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    NonPausingMethod,
    ResizableMethod,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)


class Independent(ResizableMethod, NonPausingMethod):
    """`total` trials, at most `concurrency` at once (0: all); each that ends is followed by the next.

    `is_fixed`: there are no other points, so an invalid trial counts as tried.
    """

    def __init__(self, total: int, concurrency: int, is_fixed: bool = False) -> None:
        self._total = total
        self._is_fixed = is_fixed
        self._concurrency = concurrency
        self._requested = min(total, concurrency or total)
        self._ended = 0

    def plan_start(self) -> list[SearchStep]:
        return [StartTrial()] * self._requested

    def on_created(self, trial: int, branch: Branch) -> float | None:
        return None

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        return NO_DECISION

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        if ending is TrialEnding.INVALID and not self._is_fixed:
            return [StartTrial()]
        self._ended += 1
        if self._requested >= self._total:
            return []
        self._requested += 1
        return [StartTrial()]

    def plan_more(self, count: int) -> list[StartTrial]:
        more = min(count, self._total - self._requested)
        self._requested += more
        return [StartTrial()] * more

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        self._total = max_trials
        self._requested -= len(waiting)
        return [*self.plan_more(max(0, (self._concurrency or max_trials) - (self._requested - self._ended)))]

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        self._requested -= len(waiting)
        self._total = max(1, self._requested)
        return []

    def progress(self) -> float:
        return self._ended / self._total

    def planned(self) -> int:
        return self._total
