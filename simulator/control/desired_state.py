"""Sends a leader's desired sets: immediately after a commit, and again until a worker has what it should.
Mirrors the scheduler's `desired_state`."""

from collections.abc import Callable, Iterable

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.desired import agrees, desired_of
from services.scheduler.core.state.observed import Observed
from shared.ids import WorkerId
from simulator.control.messages import DesiredSet

ANSWER_MS = 2000
FIRST_RETRY_MS = 100
LAST_RETRY_MS = 2000
REPEAT_MS = 1000

Later = Callable[[int, Callable[[], None]], None]


class DesiredStateSender:
    """At most one set on its way to a worker; a change meanwhile is sent right after it.

    Args:
        carry: Delivers a set to its worker.
        later: Runs a callback after a delay, unless the leader's process has died.
        retries: Whether replies can be lost.
    """

    def __init__(
        self,
        cluster: Cluster,
        epoch: int,
        carry: Callable[[DesiredSet], None],
        later: Later,
        retries: bool,
    ) -> None:
        self._cluster = cluster
        self._epoch = epoch
        self._carry = carry
        self._later = later
        self._retries = retries
        self._sequence = 0
        self._is_closed = False
        self._waiting: dict[WorkerId, int] = {}
        self._delay_ms: dict[WorkerId, int] = {}
        self._dirty: set[WorkerId] = set()
        self._sent_ms: dict[WorkerId, int] = {}
        self._is_held = False
        self._held_back: set[WorkerId] = set()

    def close(self) -> None:
        """Stop sending."""
        self._is_closed = True

    def hold(self) -> None:
        """Send nothing while memory is ahead of the tables: no worker may learn of a grant that is not saved."""
        self._is_held = True

    def release(self, now_ms: int) -> None:
        """Send the sets that were held back."""
        self._is_held = False
        held_back, self._held_back = self._held_back, set()
        for worker in sorted(held_back):
            self._send(worker, now_ms)

    def send(self, workers: Iterable[WorkerId], now_ms: int) -> None:
        for worker in workers:
            if worker in self._waiting:
                self._dirty.add(worker)
            else:
                self._send(worker, now_ms)

    def compare(self, worker: WorkerId, observed: Iterable[Observed], now_ms: int) -> None:
        """Send the set again if a worker does not match it, at most once per second."""
        if agrees(desired_of(self._cluster, worker), observed):
            return
        if now_ms - self._sent_ms.get(worker, -REPEAT_MS) >= REPEAT_MS:
            self.send((worker,), now_ms)

    def answered(self, worker: WorkerId, sequence: int, now_ms: int) -> None:
        """Record that the worker has replied to a set."""
        if self._waiting.get(worker) != sequence:
            return
        del self._waiting[worker]
        self._delay_ms.pop(worker, None)
        if worker in self._dirty:
            self._send(worker, now_ms)

    def _send(self, worker: WorkerId, now_ms: int) -> None:
        if self._is_closed:
            return
        if self._is_held:
            self._held_back.add(worker)
            return
        self._dirty.discard(worker)
        self._sequence += 1
        self._sent_ms[worker] = now_ms
        if self._retries:
            number = self._waiting[worker] = self._sequence
            delay_ms = self._delay_ms.get(worker, FIRST_RETRY_MS)
            self._later(ANSWER_MS + delay_ms, lambda: self._try_again(worker, number, now_ms))
        self._carry(DesiredSet(worker, self._epoch, self._sequence, desired_of(self._cluster, worker)))

    def _try_again(self, worker: WorkerId, number: int, sent_ms: int) -> None:
        if self._waiting.get(worker) != number:
            return
        del self._waiting[worker]
        delay_ms = self._delay_ms.get(worker, FIRST_RETRY_MS)
        self._delay_ms[worker] = min(2 * delay_ms, LAST_RETRY_MS)
        record = self._cluster.workers.get(worker)
        if record is not None and record.liveness != "lost":
            self._send(worker, sent_ms + ANSWER_MS + delay_ms)
