"""Turns events of the core into messages. `cycle` emits them in order."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import assert_never

from services.scheduler.core.planning.plan import Demand
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import (
    Closed,
    Ended,
    Fact,
    Granted,
    Resized,
    WorkerDown,
    WorkerEmptied,
    WorkerRemoved as Gone,
    WorkerUp,
)
from services.scheduler.core.state.records.gang import GangShare
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.slots import stored
from services.scheduler.core.state.records.worker import Worker
from shared import telemetry
from shared.bus import Unit
from shared.ids import SITE, PoolName, TrialId
from shared.messages.allocations import Slot
from shared.messages.pools import PoolCapacity, PoolDemand
from shared.messages.queue import RequestClosed
from shared.messages.runs import RunEnded, RunGranted, RunResized
from shared.messages.trial_specs import GangMember
from shared.messages.workers import WorkerDrained, WorkerJoined, WorkerLost, WorkerRemoved

TraceOf = Callable[[TrialId], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Announcer:
    """Emits into a transaction. `trace_of` returns the trace headers of a trial's request."""

    cluster: Cluster
    trace_of: TraceOf

    def emit(self, unit: Unit, facts: Iterable[Fact]) -> dict[TrialId, str | None]:
        """Emit a message for each event, and return the trace of each granted run."""
        traces: dict[TrialId, str | None] = {}
        for fact in facts:
            match fact:
                case Granted(run, trial, waited_since):
                    trace, number = self.trace_of(trial.id), run.number
                    telemetry.record(
                        "wait in queue", waited_since, run.granted_at, trace, trial=trial.id, number=number
                    )
                    with self._span("grant run", run):
                        headers: dict[str, str] = {}
                        telemetry.inject(headers)
                        traces[trial.id] = headers.get("traceparent")
                        unit.emit(_granted(run), tenant=run.tenant)
                case Resized(run, _):
                    with self._span("resize run", run):
                        unit.emit(_resized(run), tenant=run.tenant)
                case Ended(run, _, _, _):
                    with self._span("end run", run):
                        unit.emit(_ended(fact), tenant=run.tenant)
                case Closed(trial, _, _):
                    with telemetry.span("close request", parent=self.trace_of(trial.id), trial=trial.id):
                        unit.emit(_closed(fact), tenant=trial.request.tenant)
                case WorkerUp(worker):
                    unit.emit(_joined(self._risen(worker), unit), tenant=SITE)
                case WorkerEmptied(worker):
                    unit.emit(_drained(self._risen(worker), unit), tenant=SITE)
                case WorkerDown(worker, reason):
                    unit.emit(_lost(self._risen(worker), reason, unit), tenant=SITE)
                case Gone(worker, reason):
                    unit.emit(_removed(self._risen(worker), reason, unit), tenant=SITE)
                case _:
                    assert_never(fact)
        return traces

    def _span(self, name: str, run: Run) -> AbstractContextManager[object]:
        """A span of the run, in the trace of its trial's request."""
        return telemetry.span(
            name,
            parent=self.trace_of(run.trial),
            trial=run.trial,
            run=run.id,
            number=run.number,
            generation=run.gang.generation,
            slots=stored(run.slots),
        )

    def _risen(self, worker: Worker) -> Worker:
        return self.cluster.raise_version(worker.id)


def demanded(pool: PoolName, demand: Demand, version: int) -> tuple[PoolDemand, PoolCapacity]:
    """Return the messages about a pool for the provisioner and the searcher."""
    return (
        PoolDemand(
            pool=pool,
            version=version,
            waiting_slots=demand.waiting,
            used_slots=demand.used,
            idle_slots=demand.idle,
            largest_single_node=demand.largest_single_node,
            slot_kind=demand.kind,
            soon_slots=demand.soon,
            single_node_sizes=demand.single_node,
            unaffordable_slots=demand.unaffordable,
        ),
        PoolCapacity(
            pool=pool,
            version=version,
            slots=demand.used + demand.idle,
            used_slots=demand.used,
            waiting_slots=demand.waiting,
            expected_slots=demand.expected,
            idle_slots=demand.idle,
            price_per_slot_hour=demand.price_per_slot_hour,
        ),
    )


def member_of(share: GangShare) -> GangMember:
    return GangMember(
        worker=share.worker,
        slots=share.slots,
        address=share.address,
        slot_ids=share.slot_ids,
        fraction=share.fraction,
        private_network=share.private_network,
    )


def _resized(run: Run) -> RunResized:
    return RunResized(**dict(_granted(run)))


def _granted(run: Run) -> RunGranted:
    return RunGranted(
        run_id=run.id,
        trial_id=run.trial,
        experiment_id=run.experiment,
        version=run.version,
        number=run.number,
        request=run.grant.request,
        allocation_id=run.allocation,
        token=run.token,
        generation=run.gang.generation,
        pool=run.pool,
        members=tuple(member_of(share) for share in run.shares),
        granted_at=run.granted_at,
    )


def _ended(fact: Ended) -> RunEnded:
    run, ending, exited = fact.run, fact.ending, fact.exit
    return RunEnded(
        run_id=run.id,
        trial_id=run.trial,
        experiment_id=run.experiment,
        version=run.version,
        number=run.number,
        request=run.grant.request,
        allocation_id=run.allocation,
        token=run.token,
        generation=run.gang.generation,
        pool=run.pool,
        members=tuple(member_of(share) for share in run.shares),
        granted_at=run.granted_at,
        ended_at=run.ended_at or run.granted_at,
        outcome=ending.outcome,
        forced=exited.forced if exited else False,
        acknowledged=exited.acknowledged if exited else None,
        validations=exited.validations if exited else None,
        checkpoints=exited.checkpoints if exited else None,
        exit_code=exited.exit_code if exited else None,
        reason=ending.reason,
        invalid=ending.is_invalid,
        charged=ending.charged,
        restarts=fact.trial.restarts,
        labels=tuple(dict.fromkeys(name for name, _ in exited.policies)) if exited else (),
        next="closed" if ending.closes else "requeued",
    )


def _closed(fact: Closed) -> RequestClosed:
    request = fact.trial.request
    return RequestClosed(
        trial_id=request.trial,
        experiment_id=request.experiment,
        version=request.version,
        request=request.request,
        outcome=fact.outcome,
        runs=fact.trial.runs,
        reason=fact.reason,
        invalid=fact.is_invalid,
    )


def _joined(worker: Worker, unit: Unit) -> WorkerJoined:
    return WorkerJoined(
        worker=worker.id,
        version=worker.version,
        pool=worker.pool,
        address=worker.address,
        slots=tuple(Slot(id=slot, kind=worker.kind or "cpu") for slot in worker.slot_ids),
        state="draining" if worker.is_emptying else "ready",
        used_slots=worker.used_slots,
        joined_at=worker.joined_at or unit.now,
        isolated_user=worker.is_isolated,
        labels=dict(worker.labels),
        disabled_slots=tuple(sorted(worker.disabled)),
    )


def _drained(worker: Worker, unit: Unit) -> WorkerDrained:
    return WorkerDrained(worker=worker.id, version=worker.version, pool=worker.pool, drained_at=unit.now)


def _lost(worker: Worker, reason: str, unit: Unit) -> WorkerLost:
    return WorkerLost(
        worker=worker.id, version=worker.version, pool=worker.pool, reason=reason, lost_at=unit.now
    )


def _removed(worker: Worker, reason: str, unit: Unit) -> WorkerRemoved:
    return WorkerRemoved(
        worker=worker.id, version=worker.version, pool=worker.pool, reason=reason, removed_at=unit.now
    )
