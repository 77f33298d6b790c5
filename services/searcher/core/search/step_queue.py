"""Steps of a search that wait for a place. Within a budget the first that it bears goes first, and none that it does not; where it bears no
more trials, it is closed to them.
"""

from collections import deque
from collections.abc import Iterable

from services.searcher.core.budget.limits import Limit
from services.searcher.core.budget.spending import SearchSpending
from services.searcher.core.methods.port import ResumeTrial, SearchMethod, SearchStep, StartTrial


class StepQueue:
    """A queue of steps. `closed`: the limit because of which no more trials are made."""

    def __init__(self, spending: SearchSpending) -> None:
        self._spending = spending
        self._steps: deque[SearchStep] = deque()
        self._planned = 0
        self.closed: Limit | None = None

    def __len__(self) -> int:
        return len(self._steps)

    def extend(self, method: SearchMethod, steps: Iterable[SearchStep]) -> None:
        """Add steps; where it is closed, only of trials that go on: those to be made are given back."""
        steps = list(steps)
        while self.closed and (starts := [step for step in steps if isinstance(step, StartTrial)]):
            steps = [*(step for step in steps if isinstance(step, ResumeTrial)), *method.close(starts)]
        self._steps.extend(steps)

    def put(self, step: ResumeTrial) -> None:
        """Add a step, instead of what was said of the same trial before."""
        others = (
            each for each in self._steps if not isinstance(each, ResumeTrial) or each.trial != step.trial
        )
        self._steps = deque((*others, step))

    def remove(self, start: StartTrial) -> None:
        """Forget a trial that is to be made."""
        self._steps.remove(start)

    def forget_starts(self) -> None:
        """Forget all trials that are to be made."""
        self._steps = deque(step for step in self._steps if isinstance(step, ResumeTrial))

    def resize(self, method: SearchMethod, max_trials: int) -> None:
        """Have the method make so many trials. Raises Rejected, and then nothing has changed."""
        steps = method.resize(max_trials, self._starts())
        self.forget_starts()
        self.closed = None
        self.extend(method, steps)

    def reopen(self, method: SearchMethod) -> None:
        """Have the method go on as it would have if it had not been closed."""
        self.closed = None
        self.extend(method, method.reopen(self._planned))

    def take(self, method: SearchMethod, is_idle: bool) -> SearchStep | None:
        """Return the step that is next, and forget it; None: there is none, or none is borne.

        Where none is borne, and nothing under way will change that (`is_idle`: no trial is open), it is closed.
        """
        if not self._spending.is_counting:
            return self._steps.popleft() if self._steps else None
        step = self._take_borne()
        if step is not None or not self._steps:
            return step
        if not self.closed and (is_idle or self._spending.is_too_late):
            self._close(method, self._spending.tightest)
            step = self._take_borne()
        if step is None and is_idle:
            self._steps.clear()
        return step

    def _take_borne(self) -> SearchStep | None:
        """Equal trials are reckoned once."""
        spending, refused = self._spending, set[int]()
        for index, step in enumerate(self._steps):
            if isinstance(step, ResumeTrial):
                is_borne = spending.bears_going_on(step.trial, step.decide_at)
            else:
                is_borne = step.branch not in refused and spending.bears_start(step.branch, step.source)
                refused.add(step.branch)
            if is_borne:
                del self._steps[index]
                return step
        return None

    def _close(self, method: SearchMethod, limit: Limit) -> None:
        """Make no more trials; what is left goes to those that are there."""
        starts, self.closed, self._planned = self._starts(), limit, method.planned()
        self.forget_starts()
        self.extend(method, method.close(starts))

    def _starts(self) -> list[StartTrial]:
        return [step for step in self._steps if isinstance(step, StartTrial)]
