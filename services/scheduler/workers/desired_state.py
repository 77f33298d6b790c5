"""Sends desired sets to workers: immediately after a commit, and again until a worker has what it should.
Level-triggered: only the newest set counts.

`cycle` passes the workers whose set has changed, `heartbeats` passes on what workers report.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from services.scheduler.core.state.desired import DesiredRun, agrees, desired_of
from services.scheduler.core.state.observed import Observed
from services.scheduler.cycle import LeaderTerm
from services.scheduler.events import member_of
from shared.auth.signatures import MessageSigner
from shared.bus import Bus
from shared.clock import Clock
from shared.errors import MusterError
from shared.ids import WorkerId
from shared.messages.allocations import DesiredAllocation, DesiredSet, ObservedSet
from shared.runtime import faults

BEFORE_DESIRED = faults.register("scheduler.before_desired")
FIRST_RETRY_S = 0.1
LAST_RETRY_S = 2.0
REPEAT_S = 1.0
_log = structlog.get_logger()


class DesiredStateSender:
    """At most one send per worker at a time; a change meanwhile is sent right after it.

    Args:
        may_send: Whether the lease is still held.
        signer: Signs each set with the key that issues workers' credentials: workers accept no other.

    Attributes:
        on_observed_set: Receives a worker's reply, which is an observed set.
    """

    def __init__(
        self,
        bus: Bus,
        term: LeaderTerm,
        clock: Clock,
        may_send: Callable[[], bool],
        signer: MessageSigner,
    ) -> None:
        self._bus = bus
        self._term = term
        self._clock = clock
        self.on_observed_set: Callable[[ObservedSet], None] = lambda _: None
        self._may_send = may_send
        self._signer = signer
        self._sequence = 0
        self._is_closed = False
        self._dirty: set[WorkerId] = set()
        self._senders: dict[WorkerId, asyncio.Task[None]] = {}
        self._sent_at: dict[WorkerId, float] = {}

    def send(self, workers: Iterable[WorkerId]) -> None:
        """Send these workers their current desired sets."""
        for worker in workers:
            self._dirty.add(worker)
            if worker not in self._senders and not self._is_closed:
                task = asyncio.create_task(self._deliver(worker), name=f"desired {worker}")
                self._senders[worker] = task
                task.add_done_callback(lambda _, worker=worker: self._done(worker))  # type: ignore[misc]

    def compare(self, worker: WorkerId, observed: Iterable[Observed]) -> None:
        """Send the set again if a worker does not match it, at most once per second."""
        if agrees(desired_of(self._term.cluster, worker), observed):
            return
        if self._clock.monotonic() - self._sent_at.get(worker, 0.0) >= REPEAT_S:
            self.send((worker,))

    async def close(self) -> None:
        """Cancel pending sends. The next leader sends its own sets."""
        self._is_closed = True
        senders = list(self._senders.values())
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)

    async def _deliver(self, worker: WorkerId) -> None:
        delay_s = FIRST_RETRY_S
        while worker in self._dirty and self._may_send():
            await self._term.saved.wait()
            self._dirty.discard(worker)
            self._sent_at[worker] = self._clock.monotonic()
            try:
                faults.point(BEFORE_DESIRED)
                self.on_observed_set(await self._bus.send_desired(self._set_for(worker), self._signer))
                delay_s = FIRST_RETRY_S
            except MusterError as error:
                # Retry. A silent worker is declared lost by its lease, not here.
                _log.info("a worker did not acknowledge its desired set", worker=worker, error=str(error))
                record = self._term.cluster.workers.get(worker)
                if record is not None and record.liveness != "lost":
                    self._dirty.add(worker)
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, LAST_RETRY_S)

    def _done(self, worker: WorkerId) -> None:
        self._senders.pop(worker, None)
        if worker in self._dirty and self._may_send():
            self.send((worker,))

    def _set_for(self, worker: WorkerId) -> DesiredSet:
        self._sequence += 1
        return DesiredSet(
            worker=worker,
            epoch=self._term.epoch,
            sequence=self._sequence,
            allocations=tuple(self._allocation(item) for item in desired_of(self._term.cluster, worker)),
            leader_since=self._term.since,
        )

    def _allocation(self, item: DesiredRun) -> DesiredAllocation:
        run, trial = item.run, item.trial
        stored = self._term.stored_requests[trial.id]
        return DesiredAllocation(
            allocation_id=run.allocation,
            run_id=run.id,
            run_number=run.number,
            trial_id=run.trial,
            experiment_id=run.experiment,
            tenant=run.tenant,
            token=run.token,
            generation=run.gang.generation,
            signal=item.signal,
            decide_at=trial.request.decide_at,
            members=tuple(member_of(share) for share in run.gang.members),
            rendezvous=run.gang.rendezvous if run.gang.may_meet else None,
            preemption_timeout_s=stored.spec.preemption_timeout_s,
            spec=stored.spec if item.needs_spec else None,
            traceparent=self._term.run_traces.get(trial.id) or stored.traceparent,
            hangs=run.gang.hangs,
        )
