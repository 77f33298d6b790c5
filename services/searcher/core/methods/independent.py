"""Methods that judge nothing: `single`, `random` and `grid` make their trials and let each run out."""

from collections.abc import Sequence

from services.searcher.core.methods.port import (
    NEVER,
    Branch,
    Ending,
    NeverPauses,
    Ruling,
    Start,
    Step,
    TakesATotal,
)


class Independent(TakesATotal, NeverPauses):
    """`total` trials, in so many `places` at once (0: as many as there are trials); each that ends makes room for the next.
    `is_fixed`: there are no other points, so that an invalid one counts as tried."""

    def __init__(self, total: int, places: int, is_fixed: bool = False) -> None:
        self._total = total
        self._is_fixed = is_fixed
        self._places = places
        self._requested = min(total, places or total)
        self._ended = 0

    def plan_start(self) -> list[Step]:
        return [Start()] * self._requested

    def on_created(self, trial: int, branch: Branch) -> float | None:
        return None

    def on_result(self, trial: int, value: float, time: float) -> Ruling:
        return NEVER

    def on_ended(self, trial: int, ending: Ending) -> list[Step]:
        if ending is Ending.INVALID and not self._is_fixed:
            return [Start()]
        self._ended += 1
        if self._requested >= self._total:
            return []
        self._requested += 1
        return [Start()]

    def plan_more(self, count: int) -> list[Start]:
        more = min(count, self._total - self._requested)
        self._requested += more
        return [Start()] * more

    def resize(self, max_trials: int, waiting: Sequence[Start]) -> list[Step]:
        self._total = max_trials
        self._requested -= len(waiting)
        return [*self.plan_more(max(0, (self._places or max_trials) - (self._requested - self._ended)))]

    def close(self, waiting: Sequence[Start]) -> list[Step]:
        self._requested -= len(waiting)
        self._total = max(1, self._requested)
        return []

    def progress(self) -> float:
        return self._ended / self._total

    def planned(self) -> int:
        return self._total
