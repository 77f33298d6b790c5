"""Converts records to rows and back. A row is JSON: a batch is passed as one parameter
(`jsonb_populate_recordset`)."""

from datetime import datetime
from typing import Any

from services.scheduler.core.state.indexes.elastic.serialization import Kept
from services.scheduler.core.state.indexes.usage_ledger import SlotUsage
from services.scheduler.core.state.records.gang import NOBODY, Gang, GangShare
from services.scheduler.core.state.records.labels import labels_of, where_of
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import Grant, PauseTimes, Progress, Run, RunExit, state_of
from services.scheduler.core.state.records.run_states import GangState
from services.scheduler.core.state.records.slots import count_from, stored
from services.scheduler.core.state.records.trial import (
    AwaitedUploads,
    RequestState,
    SlotNeeds,
    Trial,
    TrialRequest,
    with_request,
)
from services.scheduler.core.state.records.worker import Drain, Liveness, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import DesiredState, Signal, Slots, TrialSpec

Row = dict[str, Any]
_GRANTED, _RUNNING, _ENDED = "granted", "running", "ended"
"""States of a run in its table and in messages."""


def request_of(
    trial: TrialId,
    tenant: TenantId,
    experiment: ExperimentId,
    level: tuple[int, int, DesiredState, float | None],
    spec: TrialSpec,
) -> TrialRequest:
    """Return the searcher's request. `level` is (version, request, wanted, decide_at)."""
    version, request, wanted, decide_at = level
    return TrialRequest(
        trial=trial,
        tenant=tenant,
        experiment=experiment,
        version=version,
        request=request,
        desired_state=wanted,
        decide_at=decide_at,
        needs=needs_of(spec.slots),
        pool=spec.pool,
        max_restarts=spec.max_restarts,
        number=spec.trial_number,
        experiment_number=spec.experiment_number,
        workspace=spec.workspace,
        owner=spec.owner,
    )


def needs_of(slots: Slots) -> SlotNeeds:
    where = where_of(slots.required_labels, slots.preferred_labels, slots.excluded_workers)
    return SlotNeeds(slots.min, slots.max, slots.kind, slots.single_node, slots.fraction, where)


def trial_row(trial: Trial, elastic: Kept | None = None) -> Row:
    """`elastic`: the record of an elastic trial."""
    request, awaited = trial.request, trial.awaited
    return {
        "trial": request.trial,
        "tenant": request.tenant,
        "experiment": request.experiment,
        "version": request.version,
        "request": request.request,
        "wanted": request.desired_state,
        "decide_at": request.decide_at,
        "state": trial.state,
        "place": trial.place,
        "since": trial.since,
        "restarts": trial.restarts,
        "fruitless": trial.fruitless,
        "runs": trial.runs,
        "best_step": trial.best_step,
        "run": trial.run,
        "awaited_run": awaited.run if awaited else None,
        "awaited_announced": awaited.announced if awaited else None,
        "not_before": trial.not_before,
        "submitted_at": trial.submitted_at,
        "preemptions": trial.preemptions,
        "turned_at": trial.turned_at,
        "ignores_signals": trial.ignores_signals,
        "elastic": elastic,
        "excluded": sorted(trial.excluded),
    }


def trial_of(row: Any, spec: TrialSpec) -> Trial:
    """From a row of `trial` and the specification of its request."""
    awaited = None
    if row.awaited_run is not None:
        awaited = AwaitedUploads(RunId(row.awaited_run), row.awaited_announced)
    level = (row.version, row.request, DesiredState(row.wanted), row.decide_at)
    request = request_of(TrialId(row.trial), TenantId(row.tenant), ExperimentId(row.experiment), level, spec)
    trial = Trial(
        request=request,
        place=row.place,
        since=row.since,
        state=RequestState(row.state),
        restarts=row.restarts,
        fruitless=row.fruitless,
        runs=row.runs,
        best_step=row.best_step,
        run=RunId(row.run) if row.run else None,
        awaited=awaited,
        submitted_at=row.submitted_at,
        preemptions=row.preemptions,
        turned_at=row.turned_at,
        ignores_signals=row.ignores_signals,
        excluded=frozenset(map(WorkerId, row.excluded)),
        not_before=row.not_before,
    )
    return with_request(trial, request)


def run_row(run: Run) -> Row:
    grant, gang, asked = run.grant, run.gang, run.asked
    return {
        "run": grant.id,
        "tenant": grant.tenant,
        "trial": grant.trial,
        "experiment": grant.experiment,
        "allocation": grant.allocation,
        "token": grant.token,
        "number": grant.number,
        "request": grant.request,
        "generation": gang.generation,
        "version": run.version,
        "pool": grant.pool,
        "state": _stored_state(run),
        "members": [_share_row(share) for share in gang.shares],
        "preempted": run.preempted,
        "asked_because": asked.because if asked else None,
        "asked_for": asked.trial if asked else None,
        "asked_slots": asked.slots if asked else None,
        "is_stale": run.is_stale,
        "step": run.progress.step,
        "announced": run.progress.announced,
        "granted_at": grant.granted_at,
        "ended_at": run.ended_at,
        "exits": [{"worker": worker, **exited._asdict()} for worker, exited in run.exits],
        "first_exit_at": run.first_exit_at,
        "pause_asked": run.pause_asked,
        "forming": _forming_row(gang) if gang.is_live else None,
        "took": run.took._asdict() if run.took != PauseTimes() else None,
    }


def run_of(row: Any) -> Run:
    """From a row of `run`, with the workspace and owner of its trial."""
    gang, asked = _gang_of(row), asked_of(row)
    exits = tuple(_exit_of(dict(exited)) for exited in row.exits)
    is_ended = row.state == _ENDED
    released = gang.workers if is_ended else frozenset(worker for worker, _ in exits)
    grant = Grant(
        id=RunId(row.run),
        allocation=AllocationId(row.allocation),
        trial=TrialId(row.trial),
        tenant=TenantId(row.tenant),
        experiment=ExperimentId(row.experiment),
        pool=PoolName(row.pool),
        number=row.number,
        token=row.token,
        request=row.request,
        granted_at=row.granted_at,
        workspace=row.workspace,
        owner=row.owner,
    )
    return Run(
        grant=grant,
        gang=gang._replace(released=released),
        version=row.version,
        state=state_of(is_ended, exits, asked),
        progress=Progress(step=row.step, announced=row.announced, settled=row.settled),
        asked=asked,
        pause_asked=row.pause_asked,
        exits=exits,
        first_exit_at=row.first_exit_at,
        ended_at=row.ended_at,
        is_stale=row.is_stale,
        took=PauseTimes(**(row.took or {})),
    )


def _stored_state(run: Run) -> str:
    """`granted`, `running` or `ended`; the other stored fields determine the rest (`state_of`)."""
    if run.is_ended:
        return _ENDED
    return _GRANTED if run.gang.state is GangState.STARTING else _RUNNING


def _gang_of(row: Any) -> Gang:
    """If all members had reported the gang, it is loaded as seen by all of them."""
    shares, forming = _shares_of(row.members), row.forming or {}
    target = _shares_of(forming.get("target", ()))
    is_starting = row.state == _GRANTED
    state = GangState.STARTING if is_starting else GangState.TRAINING
    unseen = frozenset(forming.get("unseen", ()))
    return Gang(
        shares=shares,
        state=GangState.FORMING if target else state,
        generation=row.generation,
        is_live=row.forming is not None,
        target=target,
        since=datetime.fromisoformat(forming["since"]) if forming.get("since") else None,
        seen=NOBODY if is_starting else frozenset(share.worker for share in shares) - unseen,
        former=frozenset(WorkerId(worker) for worker in forming.get("former", ())),
    )


def _share_row(share: GangShare) -> Row:
    return {
        "worker": share.worker,
        "slots": share.slots,
        "slot_ids": share.slot_ids,
        "address": share.address,
        "part": share.fraction,
    }


def _shares_of(members: Any) -> tuple[GangShare, ...]:
    return tuple(
        GangShare(WorkerId(m["worker"]), m["slots"], tuple(m["slot_ids"]), m["address"], m.get("part", 0))
        for m in members
    )


def _forming_row(gang: Gang) -> Row:
    """The target and the former members of a run that can be resized live."""
    return {
        "target": [_share_row(share) for share in gang.target],
        "since": gang.since.isoformat() if gang.since else None,
        "former": sorted(gang.former),
        "unseen": sorted(gang.workers - gang.seen),
    }


def _exit_of(fields: Row) -> tuple[WorkerId, RunExit]:
    worker, signal = WorkerId(fields.pop("worker")), fields.pop("acknowledged")
    policies = tuple((name, action) for name, action in fields.pop("policies", ()))
    return worker, RunExit(acknowledged=Signal(signal) if signal else None, policies=policies, **fields)


def asked_of(row: Any) -> PreemptionNotice | None:
    """Return why a run was asked for its slots, from its row."""
    if row.asked_because is None:
        return None
    return PreemptionNotice(
        row.asked_because, TrialId(row.asked_for) if row.asked_for else None, row.asked_slots
    )


def holding_row(holding: SlotUsage) -> Row:
    return {
        "allocation": holding.allocation,
        "worker": holding.worker,
        "since": holding.since,
        "tenant": holding.tenant,
        "workspace": holding.workspace,
        "owner": holding.owner,
        "experiment": holding.experiment,
        "pool": holding.pool,
        "slots": stored(holding.slots),
        "until": holding.until,
        "price_per_slot_hour": holding.price_per_slot_hour,
    }


def holding_of(row: Any) -> SlotUsage:
    """From a row of `holding`."""
    return SlotUsage(
        allocation=AllocationId(row.allocation),
        worker=WorkerId(row.worker),
        since=row.since,
        tenant=TenantId(row.tenant),
        workspace=row.workspace,
        owner=row.owner,
        experiment=ExperimentId(row.experiment),
        pool=PoolName(row.pool),
        slots=count_from(row.slots),
        until=row.until,
        price_per_slot_hour=row.price_per_slot_hour,
    )


def worker_row(worker: Worker, now: datetime) -> Row:
    return {
        "worker": worker.id,
        "pool": worker.pool,
        "address": worker.address,
        "labels": dict(worker.labels),
        "kind": worker.kind,
        "slot_ids": worker.slot_ids,
        "liveness": worker.liveness,
        "drain": worker.drain,
        "is_isolated": worker.is_isolated,
        "version": worker.version,
        "joined_at": worker.joined_at or now,
    }


def worker_of(row: Any) -> Worker:
    """From a row of `worker`. Nothing is granted to it before its first heartbeat to this leader."""
    return Worker(
        id=WorkerId(row.worker),
        pool=PoolName(row.pool),
        kind=row.kind,
        slot_ids=tuple(row.slot_ids),
        address=row.address,
        labels=labels_of(row.labels),
        disabled=frozenset(row.disabled_slots),
        liveness=Liveness(row.liveness),
        drain=Drain(row.drain),
        is_isolated=row.is_isolated,
        version=row.version,
        joined_at=row.joined_at,
    )
