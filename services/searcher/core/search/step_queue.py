"""Queue of steps that wait for free concurrency.

Within a budget, the first step that the budget covers is taken. When the budget covers no further trials, the queue
is closed to new ones.
"""

from collections import deque
from collections.abc import Iterable

from services.searcher.core.budget.enforcement import SearchSpending
from services.searcher.core.budget.limits import Limit
from services.searcher.core.methods.interface import ResumeTrial, SearchMethod, SearchStep, StartTrial


class StepQueue:
    """A queue of steps. `closed` is the limit because of which no more trials are created."""

    def __init__(self, spending: SearchSpending) -> None:
        self._spending = spending
        self._steps: deque[SearchStep] = deque()
        self._planned = 0
        self.closed: Limit | None = None

    def __len__(self) -> int:
        return len(self._steps)

    def extend(self, method: SearchMethod, steps: Iterable[SearchStep]) -> None:
        """Add steps. If the queue is closed, trials to create are returned to the method."""
        steps = list(steps)
        while self.closed and (starts := [step for step in steps if isinstance(step, StartTrial)]):
            steps = [*(step for step in steps if isinstance(step, ResumeTrial)), *method.close(starts)]
        self._steps.extend(steps)

    def put(self, step: ResumeTrial) -> None:
        """Add a step and remove earlier ones for the same trial."""
        others = (
            each for each in self._steps if not isinstance(each, ResumeTrial) or each.trial != step.trial
        )
        self._steps = deque((*others, step))

    def remove(self, start: StartTrial) -> None:
        """Remove a trial that was to be created."""
        self._steps.remove(start)

    def forget_starts(self) -> None:
        """Remove all trials that were to be created."""
        self._steps = deque(step for step in self._steps if isinstance(step, ResumeTrial))

    def resize(self, method: SearchMethod, max_trials: int) -> None:
        """Set the method's total number of trials. Raises Rejected and changes nothing if the method does not allow it."""
        steps = method.resize(max_trials, self._starts())
        self.forget_starts()
        self.closed = None
        self.extend(method, steps)

    def reopen(self, method: SearchMethod) -> None:
        """Reopen the method as if it had not been closed."""
        self.closed = None
        self.extend(method, method.reopen(self._planned))

    def take(self, method: SearchMethod, is_idle: bool) -> SearchStep | None:
        """Remove and return the next step; None if there is none or the budget covers none.

        If the budget covers none and nothing under way can change that (`is_idle`: no trial is open), close the
        queue.
        """
        if not self._spending.is_counting:
            return self._steps.popleft() if self._steps else None
        step = self._take_affordable()
        if step is not None or not self._steps:
            return step
        if not self.closed and (is_idle or self._spending.is_too_late):
            self._close(method, self._spending.tightest)
            step = self._take_affordable()
        if step is None and is_idle:
            self._steps.clear()
        return step

    def _take_affordable(self) -> SearchStep | None:
        """Remove and return the first step that the budget covers; trials of one branch are checked once."""
        spending, refused = self._spending, set[int]()
        for index, step in enumerate(self._steps):
            if isinstance(step, ResumeTrial):
                is_affordable = spending.can_afford_resume(step.trial, step.decide_at)
            else:
                is_affordable = step.branch not in refused and spending.can_afford_start(
                    step.branch, step.source
                )
                refused.add(step.branch)
            if is_affordable:
                del self._steps[index]
                return step
        return None

    def _close(self, method: SearchMethod, limit: Limit) -> None:
        """Stop creating trials; the rest of the budget goes to the existing ones."""
        starts, self.closed, self._planned = self._starts(), limit, method.planned()
        self.forget_starts()
        self.extend(method, method.close(starts))

    def _starts(self) -> list[StartTrial]:
        return [step for step in self._steps if isinstance(step, StartTrial)]
