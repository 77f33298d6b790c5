"""Waiting for the search's decision on a validation: rank 0 waits briefly, so that a stop takes effect there."""

import sys

from muster import wire
from muster._trial.worker_link.report_channel import Channel


class SearchDecisions:
    """The pending decision of rank 0."""

    def __init__(self, channel: Channel | None) -> None:
        self._channel = channel
        self._awaited: tuple[int, float] | None = None

    def expect(self, validation: int, at: float) -> None:
        """Expect a decision on this validation."""
        self._awaited = validation, at

    def wait(self) -> None:
        """Return when the pending decision arrives, or after two seconds."""
        if self._awaited is None or self._channel is None:
            return
        if not self._has_come() and not self._channel.wait(self._has_come, wire.DECISION_WAIT_S):
            text = f"muster: no decision on validation {self._awaited[0]} within 2 s; training continues"
            print(text, file=sys.stderr, flush=True)
        self._awaited = None

    def _has_come(self) -> bool:
        channel, awaited = self._channel, self._awaited
        if channel is None or awaited is None:
            return True
        number, at = awaited
        moved_on = channel.decide_at is None or at < channel.decide_at
        return channel.signal != "run" or channel.decided >= number or moved_on
