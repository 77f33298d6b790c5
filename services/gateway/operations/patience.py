"""How long what is still on its way is waited for, once the thing that it is of has ended."""

from services.gateway.operations.call import Call

_LAST_S = 6.0


class Patience:
    """Of one stream: how long the last of something that has ended is waited for, should the registry not say that all is there."""

    def __init__(self, call: Call) -> None:
        self._clock = call.doors.clock
        self._since_s: float | None = None

    def is_over(self, final: bool) -> bool:
        """Whether it has ended, and long enough ago; said at each look."""
        if final and self._since_s is None:
            self._since_s = self._clock.monotonic()
        return self._since_s is not None and self._clock.monotonic() - self._since_s > _LAST_S
