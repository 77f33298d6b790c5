"""When a worker counts as lost: silent for a lease, while the leader hears its own echo. Seconds of a monotonic clock."""

from shared.ids import WorkerId

LEASE_S = 4.0
ECHO_GAP_S = 1.5
LOST_FOR_GOOD_AFTER_S = 1800.0
"""A worker silent for so long is lost for good: a machine that boots again is back sooner. Workers end their ranks after the same time."""
ECHO_AFTER_S = 1.1
"""A heartbeat is late by then: until it comes, the leader must know that it would be heard."""


class SilenceDetector:
    """Who has spoken when. After an outage, and under a new leader, every worker has a full lease again.

    Args:
        now: the beginning of the leader's term.
    """

    def __init__(self, now: float, lease_s: float = LEASE_S, echo_gap_s: float = ECHO_GAP_S) -> None:
        self._lease_s = lease_s
        self._echo_gap_s = echo_gap_s
        self._floor = now
        self._last_echo = now
        self._heard: dict[WorkerId, float] = {}
        self._given_up: dict[WorkerId, float] = {}
        self._missing: dict[WorkerId, float] = {}

    def watch(self, worker: WorkerId) -> None:
        """Expects a worker that spoke before this term."""
        self._heard.setdefault(worker, self._floor)

    def miss(self, worker: WorkerId) -> None:
        """Takes over a worker that an earlier term gave up: it may still come back."""
        self._missing.setdefault(worker, self._floor)

    def on_heard(self, worker: WorkerId, now: float) -> None:
        """A worker has spoken; that proves the way over the bus as an echo does."""
        self._given_up.pop(worker, None)
        self._missing.pop(worker, None)
        self._heard[worker] = now
        self.on_echo(now)

    def echo_due_s(self, now: float) -> float:
        """In how long an echo is wanted: once some worker's heartbeat is late or a worker is missing, at once."""
        oldest = min((*self._heard.values(), *self._missing.values()), default=now)
        return max(0.0, max(oldest, self._floor) + ECHO_AFTER_S - now)

    def on_echo(self, now: float) -> None:
        """The leader hears itself: the way over the bus is open. After a gap all leases begin anew."""
        if now - self._last_echo > self._echo_gap_s:
            self._floor = now
        self._last_echo = now

    def take_silent(self, now: float) -> list[WorkerId]:
        """Workers whose lease has run out, each named once, by id; none while the echo is missing."""
        if now - self._last_echo > self._echo_gap_s:
            return []
        silent = sorted(w for w, at in self._heard.items() if now - max(at, self._floor) > self._lease_s)
        for worker in silent:
            self._given_up[worker] = self._missing[worker] = self._heard.pop(worker)
        return silent

    def take_gone(self, now: float) -> list[WorkerId]:
        """Workers given up that were silent for `LOST_FOR_GOOD_AFTER_S`, each named once, by id; none while the echo is missing."""
        if now - self._last_echo > self._echo_gap_s:
            return []
        gone = sorted(
            w for w, at in self._missing.items() if now - max(at, self._floor) > LOST_FOR_GOOD_AFTER_S
        )
        for worker in gone:
            del self._missing[worker]
        return gone

    def heard_s_ago(self, worker: WorkerId, now: float) -> float | None:
        """How long ago a worker spoke to this leader, also one that was given up since."""
        at = self._heard.get(worker, self._given_up.get(worker))
        return None if at is None else now - at
