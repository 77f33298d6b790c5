"""Detects lost workers: no heartbeat for a lease, while the leader receives its own echo. Times are seconds of
a monotonic clock."""

from shared.ids import WorkerId

LEASE_S = 4.0
ECHO_GAP_S = 1.5
REMOVED_AFTER_S = 1800.0
"""A worker without a heartbeat for this long counts as removed; a rebooting machine is back sooner. Workers end
their ranks after the same time."""
ECHO_AFTER_S = 1.1
"""When a heartbeat counts as late. Until it arrives, the leader must verify that the bus delivers."""


class SilenceDetector:
    """When each worker last sent a heartbeat. After an outage, and under a new leader, every worker gets a full
    lease again.

    Args:
        now: The start of the leader's term.
    """

    def __init__(self, now: float, lease_s: float = LEASE_S, echo_gap_s: float = ECHO_GAP_S) -> None:
        self._lease_s = lease_s
        self._echo_gap_s = echo_gap_s
        self._floor = now
        self._last_echo = now
        self._last_heartbeat: dict[WorkerId, float] = {}
        self._given_up: dict[WorkerId, float] = {}
        self._missing: dict[WorkerId, float] = {}

    def watch(self, worker: WorkerId) -> None:
        """Expect a worker that was alive before this term."""
        self._last_heartbeat.setdefault(worker, self._floor)

    def miss(self, worker: WorkerId) -> None:
        """Track a worker that an earlier term declared lost; it may still return."""
        self._missing.setdefault(worker, self._floor)

    def on_heartbeat(self, worker: WorkerId, now: float) -> None:
        """Record a heartbeat. Like an echo, it proves that the bus delivers."""
        self._given_up.pop(worker, None)
        self._missing.pop(worker, None)
        self._last_heartbeat[worker] = now
        self.on_echo(now)

    def echo_due_s(self, now: float) -> float:
        """Return in how many seconds an echo is needed: 0 once a worker's heartbeat is late or a worker is
        missing."""
        oldest = min((*self._last_heartbeat.values(), *self._missing.values()), default=now)
        return max(0.0, max(oldest, self._floor) + ECHO_AFTER_S - now)

    def on_echo(self, now: float) -> None:
        """Record that the leader has received its own message. After a gap all leases start again."""
        if now - self._last_echo > self._echo_gap_s:
            self._floor = now
        self._last_echo = now

    def take_silent(self, now: float) -> list[WorkerId]:
        """Return the workers whose lease has expired, each once, by id; none while the echo is missing."""
        if now - self._last_echo > self._echo_gap_s:
            return []
        silent = sorted(
            w for w, at in self._last_heartbeat.items() if now - max(at, self._floor) > self._lease_s
        )
        for worker in silent:
            self._given_up[worker] = self._missing[worker] = self._last_heartbeat.pop(worker)
        return silent

    def take_removed(self, now: float) -> list[WorkerId]:
        """Return the lost workers without a heartbeat for `REMOVED_AFTER_S`, each once, by id; none while the echo
        is missing."""
        if now - self._last_echo > self._echo_gap_s:
            return []
        expired = sorted(w for w, at in self._missing.items() if now - max(at, self._floor) > REMOVED_AFTER_S)
        for worker in expired:
            del self._missing[worker]
        return expired

    def seconds_since_heartbeat(self, worker: WorkerId, now: float) -> float | None:
        """Return how long ago a worker, including a lost one, sent a heartbeat to this leader."""
        at = self._last_heartbeat.get(worker, self._given_up.get(worker))
        return None if at is None else now - at
