"""Carries out a plan: grants slots, and asks runs for them."""

from datetime import datetime
from typing import NamedTuple

from services.scheduler.core.reducers import pause_measurements
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.indexes.placement.fractional_slots import tightest
from services.scheduler.core.state.published_events import Granted
from services.scheduler.core.state.records.gang import Gang, GangShare
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import Grant, Run
from services.scheduler.core.state.records.run_states import RunTrigger
from services.scheduler.core.state.records.trial import RequestTrigger, TrialRequest
from services.scheduler.core.state.records.worker import Worker
from shared.ids import AllocationId, RunId, TrialId


class NewRun(NamedTuple):
    """The identity of a run to create; tokens increase with every grant."""

    run: RunId
    allocation: AllocationId
    token: int


def on_granted(
    cluster: Cluster, trial_id: TrialId, placement: Placement, new: NewRun, now: datetime
) -> Changes:
    """Create a run, which occupies its slots."""
    trial = cluster.trials[trial_id]
    shares = tuple([_share(cluster.workers[worker], slots, trial.request) for worker, slots in placement])
    request = trial.request
    grant = Grant(
        id=new.run,
        allocation=new.allocation,
        trial=trial_id,
        tenant=request.tenant,
        experiment=request.experiment,
        pool=cluster.pool_of(trial),
        number=trial.runs + 1,
        token=new.token,
        request=request.request,
        granted_at=now,
        workspace=request.workspace,
        owner=request.owner,
    )
    run = Run(grant, Gang(shares))
    draft = Draft(cluster)
    draft.put_run(run)
    draft.begin(run, now)
    granted = trial.moved(RequestTrigger.GRANTED, now, runs=grant.number, run=grant.id)
    draft.put_trial(granted)
    draft.want([share.worker for share in shares])
    draft.emit(Granted(run, granted, trial.since))
    return draft


def on_preempted(cluster: Cluster, run: RunId, asked: PreemptionNotice) -> Changes:
    """Ask a run for its slots. They are free only once its workers report so."""
    draft = Draft(cluster)
    preempt(draft, cluster.runs[run], asked)
    return draft


def preempt(draft: Draft, run: Run, asked: PreemptionNotice) -> None:
    """See `on_preempted`. A run that was already asked or has ended is not asked again."""
    if run.preempted or run.is_ended:
        return
    pause_times = pause_measurements.asked(run, draft.cluster.now_ms)
    draft.put_run(run.moved(RunTrigger.ASKED, version=run.version + 1, asked=asked, pause_times=pause_times))
    draft.want(run.workers)


def _share(worker: Worker, slots: int, request: TrialRequest) -> GangShare:
    """Return the lowest free slots of a worker; for a fraction that opens no slot, the shared slot with the
    least left that fits."""
    fraction = request.needs.fraction
    room = tightest(worker.shared_slots, request.tenant, fraction) if fraction and not slots else None
    slot_ids = (room.slot,) if room else worker.free_slot_ids[:slots]
    return GangShare(
        worker.id, 1 if fraction else slots, slot_ids, worker.address, fraction, worker.has_private_network
    )
