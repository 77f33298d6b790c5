"""When the ranks of a gang synchronize on stopping: computed by rank 0, without communication."""

from dataclasses import dataclass
from math import ceil

GO_ON, STOP, FORM_ANEW = 0, 1, 2
"""Answers of rank 0 when the gang synchronizes."""
ASK_EVERY_S = 0.25
MAX_CALLS = 100_000


@dataclass(slots=True)
class StopPollCadence:
    """Counts calls and validations, and plans after how many calls the gang synchronizes again.

    The interval is the number of calls in about 250 ms, limited so that the call after the validation expected to reach
    `decide_at` is a synchronizing one.
    """

    asked_at: float | None = None
    calls: int = 1
    since_validation: int = 0
    calls_between: int = 0
    last_time: float | None = None
    time_between: float = 0.0

    def on_call(self) -> None:
        """Count a call of `should_stop`."""
        self.since_validation += 1

    def on_validation(self, time: float) -> None:
        """Record a validation at `time`, in the search's unit."""
        if self.last_time is not None:
            self.time_between = time - self.last_time
        self.last_time = time
        self.calls_between, self.since_validation = self.since_validation, 0

    def plan_calls(self, now: float, decide_at: float | None) -> int:
        """Return the number of calls until the next synchronization (1 = the next call)."""
        previous, self.asked_at = self.asked_at, now
        if previous is not None:
            per_call = max((now - previous) / self.calls, 1e-7)
            # At most fourfold, so that one unusually slow or quick step does not set the pace.
            self.calls = int(min(max(ASK_EVERY_S / per_call, 1), MAX_CALLS, 4 * self.calls))
        self.calls = min(self.calls, self._calls_until_decision(decide_at))
        return self.calls

    def _calls_until_decision(self, decide_at: float | None) -> int:
        if decide_at is None:
            return MAX_CALLS
        if self.last_time is None or self.time_between <= 0 or self.calls_between <= 0:
            return max(1, self.since_validation)  # the pace is unknown: synchronize at growing intervals
        validations = max(1, ceil((decide_at - self.last_time) / self.time_between))
        return max(1, validations * self.calls_between - self.since_validation + 1)
