"""When the ranks of a gang talk about stopping: rank 0's arithmetic, without any communication."""

from dataclasses import dataclass
from math import ceil

GO_ON, STOP, FORM_ANEW = 0, 1, 2
"""What rank 0 answers when the gang asks."""
ASK_EVERY_S = 0.25
MAX_CALLS = 100_000


@dataclass(slots=True)
class StopPollCadence:
    """Counts calls and validations, and says after how many calls the gang should ask again.

    The answer is the number of calls in about 250 ms, but at most the number until the validation that is
    expected to reach `decide_at`, so that a decision is asked for in the very call that follows it.
    """

    asked_at: float | None = None
    calls: int = 1
    since_validation: int = 0
    calls_between: int = 0
    last_time: float | None = None
    time_between: float = 0.0

    def on_call(self) -> None:
        """`should_stop` was called."""
        self.since_validation += 1

    def on_validation(self, time: float) -> None:
        """A validation at `time` (in the search's unit) was reported."""
        if self.last_time is not None:
            self.time_between = time - self.last_time
        self.last_time = time
        self.calls_between, self.since_validation = self.since_validation, 0

    def plan_calls(self, now: float, decide_at: float | None) -> int:
        """The gang asks now: return how many calls from here it asks again (1 = at the next)."""
        previous, self.asked_at = self.asked_at, now
        if previous is not None:
            per_call = max((now - previous) / self.calls, 1e-7)
            # Fourfold at most: one slow first step must not be taken for the pace, nor one quick one.
            self.calls = int(min(max(ASK_EVERY_S / per_call, 1), MAX_CALLS, 4 * self.calls))
        self.calls = min(self.calls, self._calls_until_decision(decide_at))
        return self.calls

    def _calls_until_decision(self, decide_at: float | None) -> int:
        if decide_at is None:
            return MAX_CALLS
        if self.last_time is None or self.time_between <= 0 or self.calls_between <= 0:
            return max(
                1, self.since_validation
            )  # the rhythm is not known yet: look more often, ever more rarely
        validations = max(1, ceil((decide_at - self.last_time) / self.time_between))
        return max(1, validations * self.calls_between - self.since_validation + 1)
