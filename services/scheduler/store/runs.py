"""Queries about runs and trials that have left the leader's memory."""

from dataclasses import dataclass

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.store.rows import asked_of
from services.scheduler.store.tables import run, trial, trial_request
from shared.database.tables import tables_of
from shared.ids import ExperimentId, RunId, TenantId, TrialId, WorkerId
from shared.messages.runs import AllocationFacts

_later = run.alias("later")
_ALLOCATION = select(
    run,
    trial_request.c.spec["code_hash"].astext.label("code_hash"),
    trial_request.c.spec["start_checkpoint"].astext.label("start_checkpoint"),
    or_(run.c.is_stale, exists().where(_later.c.trial == run.c.trial, _later.c.token > run.c.token)).label(
        "is_behind"
    ),
).join(trial_request, trial_request.c.trial == run.c.trial)
_ASKED = select(
    *(run.c.number, run.c.preemption_cause, run.c.preempted_for, run.c.resume_slots),
    trial_request.c.spec["experiment_number"].astext.label("experiment_number"),
    trial_request.c.spec["trial_number"].astext.label("trial_number"),
).outerjoin(
    trial_request, and_(trial_request.c.trial == run.c.preempted_for, trial_request.c.tenant == run.c.tenant)
)


@dataclass(frozen=True, slots=True)
class StoredNotice:
    """Why a run was asked for its slots. `by`: the trial that needed them, if it belongs to the same tenant."""

    run_number: int
    asked: PreemptionNotice
    by: str | None


async def load_asking(connection: AsyncConnection, tenant: TenantId, run_id: RunId) -> StoredNotice | None:
    """None: the run was not asked for its slots."""
    asked_one = _ASKED.where(run.c.run == run_id, run.c.tenant == tenant, run.c.preemption_cause.is_not(None))
    row = (await connection.execute(asked_one)).one_or_none()
    asked = asked_of(row) if row else None
    if row is None or asked is None:
        return None
    by = f"{row.experiment_number}.{row.trial_number}" if row.experiment_number else None
    return StoredNotice(row.number, asked, by)


async def load_allocation(connection: AsyncConnection, run_id: RunId) -> AllocationFacts | None:
    """Return what was granted to a run, and whether a later run has replaced it; None: no such run."""
    row = (await connection.execute(_ALLOCATION.where(run.c.run == run_id))).one_or_none()
    if row is None:
        return None
    former = row.live_resize["former"] if row.live_resize else ()
    return AllocationFacts(
        tenant=row.tenant,
        experiment_id=ExperimentId(row.experiment),
        trial_id=TrialId(row.trial),
        run_id=RunId(row.run),
        run_number=row.number,
        token=row.token,
        members=tuple(map(WorkerId, (*(member["worker"] for member in row.members), *former))),
        stale=row.is_behind,
        code_hash=row.code_hash,
        start_checkpoint=row.start_checkpoint,
    )


async def has_trial(connection: AsyncConnection, tenant: TenantId, trial_id: TrialId) -> bool:
    """Whether the scheduler has had this trial of the tenant."""
    query = select(trial.c.trial).where(trial.c.trial == trial_id, trial.c.tenant == tenant)
    return (await connection.execute(query)).one_or_none() is not None


async def is_deleted(connection: AsyncConnection, run_id: RunId) -> bool:
    """Whether the run was deleted."""
    deleted = tables_of("scheduler").deleted
    return (await connection.execute(select(deleted.c.id).where(deleted.c.id == run_id))).first() is not None
