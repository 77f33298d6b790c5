"""A leader's desired sets on their way: at once after a commit, again until a worker has what it should. Mirrors the service's
`desired_state`; `leader` says whose set has changed."""

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
    """One set on its way to a worker at most; a change meanwhile is sent right after it.

    Args:
        carry: Takes a set to its worker.
        later: Has something done after so many milliseconds, unless the leader's process has died.
        retries: Whether an answer may fail to come.
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
        self._kept: set[WorkerId] = set()

    def close(self) -> None:
        """Nothing is sent any more."""
        self._is_closed = True

    def hold(self) -> None:
        """Sends nothing while the world in memory is ahead of the tables: a grant that is not saved must not be heard of."""
        self._is_held = True

    def release(self, now_ms: int) -> None:
        """It is saved: what was kept back goes out."""
        self._is_held = False
        kept, self._kept = self._kept, set()
        for worker in sorted(kept):
            self._send(worker, now_ms)

    def send(self, workers: Iterable[WorkerId], now_ms: int) -> None:
        for worker in workers:
            if worker in self._waiting:
                self._dirty.add(worker)
            else:
                self._send(worker, now_ms)

    def compare(self, worker: WorkerId, observed: Iterable[Observed], now_ms: int) -> None:
        """Send the set again when a worker has something else than it should, at most once a second."""
        if agrees(desired_of(self._cluster, worker), observed):
            return
        if now_ms - self._sent_ms.get(worker, -REPEAT_MS) >= REPEAT_MS:
            self.send((worker,), now_ms)

    def answered(self, worker: WorkerId, sequence: int, now_ms: int) -> None:
        """The worker has answered a set."""
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
            self._kept.add(worker)
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
