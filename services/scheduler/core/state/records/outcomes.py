"""How runs and requests end."""

from typing import Literal, NamedTuple

RunOutcome = Literal["completed", "stopped", "parked", "preempted", "cancelled", "killed", "failed", "lost"]
RequestOutcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected"]


class RunEnding(NamedTuple):
    """The consequences of an end: for the run, for the counters of its trial, and whether its request closes."""

    outcome: RunOutcome
    closes: RequestOutcome | None
    charged: bool = False
    reason: str | None = None
    lacks_progress: bool = False
    is_invalid: bool = False
