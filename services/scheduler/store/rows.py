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
    """Return the searcher's request. `level` is (version, request, desired_state, decide_at)."""
    version, request, desired_state, decide_at = level
    return TrialRequest(
        trial=trial,
        tenant=tenant,
        experiment=experiment,
        version=version,
        request=request,
        desired_state=desired_state,
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
        "desired_state": request.desired_state,
        "decide_at": request.decide_at,
        "state": trial.state,
        "submission_order": trial.submission_order,
        "since": trial.since,
        "restarts": trial.restarts,
        "runs_without_progress": trial.runs_without_progress,
        "runs": trial.runs,
        "best_step": trial.best_step,
        "run": trial.run,
        "awaited_run": awaited.run if awaited else None,
        "awaited_checkpoints": awaited.announced if awaited else None,
        "not_before": trial.not_before,
        "submitted_at": trial.submitted_at,
        "preemptions": trial.preemptions,
        "time_slice_ended_at": trial.time_slice_ended_at,
        "ignores_signals": trial.ignores_signals,
        "elastic": elastic,
        "excluded": sorted(trial.excluded),
    }


def trial_of(row: Any, spec: TrialSpec) -> Trial:
    """From a row of `trial` and the specification of its request."""
    awaited = None
    if row.awaited_run is not None:
        awaited = AwaitedUploads(RunId(row.awaited_run), row.awaited_checkpoints)
    level = (row.version, row.request, DesiredState(row.desired_state), row.decide_at)
    request = request_of(TrialId(row.trial), TenantId(row.tenant), ExperimentId(row.experiment), level, spec)
    trial = Trial(
        request=request,
        submission_order=row.submission_order,
        since=row.since,
        state=RequestState(row.state),
        restarts=row.restarts,
        runs_without_progress=row.runs_without_progress,
        runs=row.runs,
        best_step=row.best_step,
        run=RunId(row.run) if row.run else None,
        awaited=awaited,
        submitted_at=row.submitted_at,
        preemptions=row.preemptions,
        time_slice_ended_at=row.time_slice_ended_at,
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
        "preemption_cause": asked.because if asked else None,
        "preempted_for": asked.trial if asked else None,
        "resume_slots": asked.slots if asked else None,
        "is_stale": run.is_stale,
        "step": run.progress.step,
        "announced": run.progress.announced,
        "granted_at": grant.granted_at,
        "ended_at": run.ended_at,
        "exits": [{"worker": worker, **exited._asdict()} for worker, exited in run.exits],
        "first_exit_at": run.first_exit_at,
        "pause_requested": run.pause_requested,
        "live_resize": _live_resize_row(gang) if gang.is_live else None,
        "pause_times": run.pause_times._asdict() if run.pause_times != PauseTimes() else None,
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
        pause_requested=row.pause_requested,
        exits=exits,
        first_exit_at=row.first_exit_at,
        ended_at=row.ended_at,
        is_stale=row.is_stale,
        pause_times=PauseTimes(**(row.pause_times or {})),
    )


def _stored_state(run: Run) -> str:
    """`granted`, `running` or `ended`; the other stored fields determine the rest (`state_of`)."""
    if run.is_ended:
        return _ENDED
    return _GRANTED if run.gang.state is GangState.STARTING else _RUNNING


def _gang_of(row: Any) -> Gang:
    """If all members had reported the gang, it is loaded as seen by all of them."""
    shares, resize = _shares_of(row.members), row.live_resize or {}
    target = _shares_of(resize.get("target", ()))
    is_starting = row.state == _GRANTED
    state = GangState.STARTING if is_starting else GangState.TRAINING
    unseen = frozenset(resize.get("unseen", ()))
    return Gang(
        shares=shares,
        state=GangState.FORMING if target else state,
        generation=row.generation,
        is_live=row.live_resize is not None,
        target=target,
        since=datetime.fromisoformat(resize["since"]) if resize.get("since") else None,
        seen=NOBODY if is_starting else frozenset(share.worker for share in shares) - unseen,
        former=frozenset(WorkerId(worker) for worker in resize.get("former", ())),
    )


def _share_row(share: GangShare) -> Row:
    return {
        "worker": share.worker,
        "slots": share.slots,
        "slot_ids": share.slot_ids,
        "address": share.address,
        "fraction": share.fraction,
        "private_network": share.private_network,
    }


def _shares_of(members: Any) -> tuple[GangShare, ...]:
    return tuple(
        GangShare(
            WorkerId(m["worker"]),
            m["slots"],
            tuple(m["slot_ids"]),
            m["address"],
            m.get("fraction", 0),
            m.get("private_network", False),
        )
        for m in members
    )


def _live_resize_row(gang: Gang) -> Row:
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
    if row.preemption_cause is None:
        return None
    return PreemptionNotice(
        row.preemption_cause, TrialId(row.preempted_for) if row.preempted_for else None, row.resume_slots
    )


def usage_entry_row(usage_entry: SlotUsage) -> Row:
    return {
        "allocation": usage_entry.allocation,
        "worker": usage_entry.worker,
        "since": usage_entry.since,
        "tenant": usage_entry.tenant,
        "workspace": usage_entry.workspace,
        "owner": usage_entry.owner,
        "experiment": usage_entry.experiment,
        "pool": usage_entry.pool,
        "slots": stored(usage_entry.slots),
        "until": usage_entry.until,
        "price_per_slot_hour": usage_entry.price_per_slot_hour,
    }


def usage_entry_of(row: Any) -> SlotUsage:
    """From a row of `usage_entry`."""
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
