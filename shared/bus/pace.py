"""When a consumer begins its next batch: at once where little comes, and in even steps where much does, so that one transaction serves more.

Neighbour: `pull`, which hands out batches at a pace.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.bus import envelope

AT_ONCE = 4
"""So many batches begin without waiting after a rest: what one thing leads to comes in a few, and somebody may look on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `AT_ONCE` batches in quick succession, then one each `every_s`.

    Attributes:
        every_s: Seconds from the beginning of a batch to that of the next, in the long run.
        patient: Types of message that may wait for their batch; None: all. What answers a command never does.
    """

    every_s: float = 0.0
    patient: frozenset[str] | None = None

    def hurries(self, headers: Mapping[str, str]) -> bool:
        """Whether the message with these headers begins its batch at once."""
        if envelope.ANSWER in headers:
            return True
        return self.patient is not None and headers.get(envelope.TYPE) not in self.patient

    def after(self, due_s: float, now_s: float) -> float:
        """When the next batch may begin, where the one that was due at `due_s` begins now, at most a step early."""
        earliest_s = now_s - (AT_ONCE - 1) * self.every_s
        return min(max(due_s, earliest_s), now_s) + self.every_s
