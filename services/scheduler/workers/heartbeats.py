"""Receives heartbeats: accepts observed sets in order, and detects silent workers while the leader receives its
own echo. `cycle` applies the sets, `desired_state` sends desired sets again."""

import asyncio
import contextlib
from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID

import structlog

from muster.config.labels import MOST_LABELS, is_label
from services.scheduler.core.reducers.workers import (
    on_heartbeat,
    on_silent_worker_removed,
    on_worker_lost,
    stale_of,
)
from services.scheduler.core.state.heartbeat_admission import (
    HeartbeatClaim,
    HeartbeatGate,
    HeartbeatRejection,
)
from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.liveness import LEASE_S, REMOVED_AFTER_S, SilenceDetector
from services.scheduler.core.state.observed import (
    Batches,
    Observed,
    ObservedState,
    ReclaimNotice,
    StepMeasurement,
)
from services.scheduler.core.state.records.labels import labels_of
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.worker import MachineId
from services.scheduler.cycle import Cycle
from services.scheduler.workers.desired_state import DesiredStateSender
from shared.bus import Bus, RequestContext
from shared.clock import Clock
from shared.errors import Rejected, Transient
from shared.ids import WorkerId
from shared.messages import allocations as messages
from shared.messages.allocations import HeartbeatReply, ObservedAllocation, ObservedSet

ECHO_EVERY_S = 0.4
"""Interval between echoes while a worker's heartbeat is late; several fit before they count as missing
(`liveness.ECHO_GAP_S`)."""
MOST_STEPS, MOST_COUNTED = 2**63 - 1, 2**31 - 1
"""Maximum numbers in the tables. Steps and checkpoints come from user code, and a number that does not fit would end the leader."""
SHORTEST_S = 0.25
"""Minimum interval between checks: with a thousand workers some heartbeat is always about to be late."""
_log = structlog.get_logger()


class Heartbeats:
    """One per term."""

    def __init__(self, bus: Bus, cycle: Cycle, clock: Clock, dispatch: DesiredStateSender) -> None:
        self._bus = bus
        self._cycle = cycle
        self._clock = clock
        self.silence = SilenceDetector(clock.monotonic())
        self._gate = HeartbeatGate()
        self._refused: set[tuple[WorkerId, str]] = set()
        self._stale: set[int] = set()
        self._refused_sets: dict[WorkerId, tuple[UUID, int]] = {}
        self._dispatch = dispatch
        for worker in cycle.cluster.workers.values():
            if worker.liveness == "ready":
                self.silence.watch(worker.id)
            elif worker.liveness == "lost":
                self.silence.miss(worker.id)

    async def answer(self, ask: RequestContext, observed: ObservedSet) -> HeartbeatReply:
        """Handle a heartbeat or an immediate change. The subject authenticates the worker, whatever the message
        says. A worker that has not joined or was removed is answered as unknown."""
        worker = self._cycle.cluster.workers.get(ask.worker)
        if observed.worker != ask.worker or worker is None or worker.liveness == "removed":
            return HeartbeatReply(epoch=self._cycle.term.epoch, known=False)
        self.on_observed_set(observed)
        return HeartbeatReply(epoch=self._cycle.term.epoch)

    def on_observed_set(self, observed: ObservedSet) -> None:
        """Accept an observed set unless a newer one was accepted before. Raises Rejected for contradictory
        reports."""
        worker = self._cycle.cluster.workers.get(observed.worker)
        pool = self._cycle.cluster.pools.get(observed.pool)
        taken = self._gate.take(_claim_of(observed), worker, pool.policy.kind if pool else None)
        if isinstance(taken, HeartbeatRejection):
            self._refuse(observed.worker, taken)
        if not taken:
            return
        self.silence.on_heartbeat(observed.worker, self._clock.monotonic())
        self._log_refused_sets(observed)
        state = _state_of(observed)

        def apply(cycle: Cycle) -> None:
            self._log_stale(state)
            cycle.cluster.apply(on_heartbeat(cycle.cluster, state, cycle.clock.now()))
            self._dispatch.compare(state.worker, state.allocations)

        self._cycle.push(apply)

    def last_heartbeat(self, worker: WorkerId) -> datetime | None:
        """Return when a worker last sent a heartbeat to this leader."""
        ago_s = self.silence.seconds_since_heartbeat(worker, self._clock.monotonic())
        return None if ago_s is None else self._clock.now() - timedelta(seconds=ago_s)

    async def run(self, ended: asyncio.Event) -> None:
        """Listen to the leader's own echo while a worker's heartbeat is late, and declare workers lost whose
        lease has expired."""
        subject = f"_INBOX_scheduler.echo.{self._cycle.term.epoch}"
        subscription = await self._bus.subscribe(subject, self._on_echo)
        try:
            while not ended.is_set():
                due_s = self.silence.echo_due_s(self._clock.monotonic())
                if not due_s:
                    with contextlib.suppress(Transient):
                        await self._bus.echo(subject)
                self._give_up_silent()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), max(SHORTEST_S, due_s) if due_s else ECHO_EVERY_S)
        finally:
            with contextlib.suppress(Exception):
                await subscription.unsubscribe()

    async def _on_echo(self, _: object) -> None:
        self.silence.on_echo(self._clock.monotonic())

    def _give_up_silent(self) -> None:
        for worker in self.silence.take_silent(self._clock.monotonic()):
            reason = f"worker {worker} sent no heartbeat for {LEASE_S:g} s"
            self._cycle.push(lambda cycle, worker=worker, reason=reason: _silence(cycle, worker, reason))  # type: ignore[misc]
        for worker in self.silence.take_removed(self._clock.monotonic()):
            reason = f"worker {worker} sent no heartbeat for {REMOVED_AFTER_S / 60:g} minutes"
            self._cycle.push(
                lambda cycle, worker=worker, reason=reason: cycle.cluster.apply(
                    on_silent_worker_removed(cycle.cluster, worker, reason)
                )  # type: ignore[misc]
            )

    def _refuse(self, worker: WorkerId, doubt: HeartbeatRejection) -> NoReturn:
        if (worker, doubt.code) not in self._refused:
            self._refused.add((worker, doubt.code))
            _log.warning(
                "rejected a worker's heartbeat", worker=worker, code=doubt.code, reason=doubt.message
            )
        raise Rejected(doubt.code, doubt.message)

    def _log_refused_sets(self, observed: ObservedSet) -> None:
        """Log that a worker refused desired sets: somebody else sends them, or holds the key that signs them."""
        worker, before = observed.worker, self._refused_sets.get(observed.worker)
        self._refused_sets[worker] = (observed.incarnation, observed.refused_sets)
        known = before[1] if before is not None and before[0] == observed.incarnation else 0
        if observed.refused_sets > known:
            _log.error(
                "a worker refused desired sets",
                worker=worker,
                refused=observed.refused_sets - known,
                reason=observed.refusal,
            )

    def _log_stale(self, state: ObservedState) -> None:
        """Log allocations that a worker still runs although their token is no longer valid; its desired set
        makes it drop them."""
        for observed in stale_of(self._cycle.cluster, state):
            if observed.token not in self._stale:
                self._stale.add(observed.token)
                _log.warning(
                    "a worker still runs an ended or replaced allocation",
                    worker=state.worker,
                    token=observed.token,
                )


def _silence(cycle: Cycle, worker: WorkerId, reason: str) -> None:
    if worker in cycle.cluster.workers:
        cycle.cluster.apply(on_worker_lost(cycle.cluster, worker, reason, cycle.clock.now()))


def _claim_of(observed: ObservedSet) -> HeartbeatClaim:
    slots = tuple((slot.id, slot.kind) for slot in observed.slots)
    return HeartbeatClaim(observed.worker, observed.pool, observed.incarnation, observed.sequence, slots)


def _state_of(observed: ObservedSet) -> ObservedState:
    slot_ids = tuple(slot.id for slot in observed.slots)
    labels = {key: value for key, value in observed.labels.items() if is_label(key, value)}
    allocations = tuple(_observed_of(allocation) for allocation in observed.allocations)
    return ObservedState(
        worker=observed.worker,
        pool=observed.pool,
        kind=observed.slots[0].kind if observed.slots else None,
        slot_ids=slot_ids,
        address=observed.address,
        labels=labels_of(labels)[:MOST_LABELS],
        is_isolated=observed.isolated_user,
        machine=MachineId(observed.machine) if observed.machine else None,
        isolation=observed.isolation,
        isolation_detail=observed.isolation_detail,
        is_empty=observed.drained and all(allocation.exit is not None for allocation in allocations),
        trouble=observed.trouble,
        leaving=ReclaimNotice(observed.leaving.in_s) if observed.leaving else None,
        has_private_network=observed.private_network,
        allocations=allocations,
    )


def _measured_of(measured: messages.StepMeasurement) -> StepMeasurement:
    batches = None
    if (reported := measured.batches) is not None:
        limits = BatchLimits(reported.first, reported.last, reported.least_per_slot, reported.most_per_slot)
        batches = Batches(reported.per_slot, limits, GradientNoise(reported.grad_sqr, reported.grad_var))
    return StepMeasurement(measured.step_s, batches)


def _within(number: int, most: int, least: int = 0) -> int:
    return min(max(number, least), most)


def _observed_of(allocation: ObservedAllocation) -> Observed:
    step = _within(allocation.step, MOST_STEPS)
    checkpoints = _within(allocation.checkpoints, MOST_COUNTED)
    exited = None
    if allocation.state == "exited":
        code = allocation.exit_code
        exited = RunExit(
            exit_code=None if code is None else _within(code, MOST_COUNTED, -MOST_COUNTED),
            acknowledged=allocation.acknowledged,
            forced=allocation.forced,
            is_machine_fault=allocation.fault == "machine",
            is_invalid=allocation.invalid,
            reason=allocation.reason,
            validations=_within(allocation.validations, MOST_COUNTED),
            checkpoints=checkpoints,
            step=step,
            policies=tuple((match.name, match.action) for match in allocation.policies),
        )
    return Observed(
        allocation=allocation.allocation_id,
        run=allocation.run_id,
        token=allocation.token,
        generation=allocation.generation,
        state=allocation.state,
        signal=allocation.signal,
        decide_at=allocation.decide_at,
        rendezvous=allocation.rendezvous,
        step=step,
        checkpoints=checkpoints,
        measured=_measured_of(allocation.measured) if allocation.measured else None,
        is_excluded=any(match.action == "exclude_node" for match in allocation.policies),
        is_live=allocation.is_live,
        prepared=allocation.prepared,
        joined=allocation.joined,
        hangs=allocation.hangs,
        exit=exited,
    )
