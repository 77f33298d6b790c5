"""Runs and trials that have left the leader's memory, as questions ask for them."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.asked import Asked
from services.scheduler.store.rows import asked_of
from shared.ids import ExperimentId, RunId, TenantId, TrialId, WorkerId
from shared.messages.runs import AllocationFacts

_ALLOCATION = text(
    "SELECT r.*, w.spec ->> 'code_hash' AS code_hash, w.spec ->> 'start_checkpoint' AS start_checkpoint,"
    " r.is_stale OR EXISTS (SELECT 1 FROM scheduler.run later WHERE later.trial = r.trial AND later.token > r.token)"
    " AS is_behind, ARRAY(SELECT m ->> 'worker' FROM jsonb_array_elements(r.members) m)"
    " || ARRAY(SELECT jsonb_array_elements_text(r.forming -> 'former')) AS workers"
    " FROM scheduler.run r JOIN scheduler.wanted w USING (trial) WHERE r.run = :run"
)
_CLOSED = text("SELECT 1 FROM scheduler.trial WHERE trial = :trial AND tenant = :tenant")

_GIVEN_BACK = text(
    "SELECT r.number, r.asked_because, r.asked_for, r.asked_slots, w.spec ->> 'experiment_number' AS experiment_number,"
    " w.spec ->> 'trial_number' AS trial_number"
    " FROM scheduler.run r LEFT JOIN scheduler.wanted w ON w.trial = r.asked_for AND w.tenant = r.tenant"
    " WHERE r.run = :run AND r.tenant = :tenant AND r.asked_because IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class StoredAsking:
    """Why a run was asked for its slots. `by`: the trial that was to have them, where it is of the same tenant."""

    run_number: int
    asked: Asked
    by: str | None


async def load_asking(connection: AsyncConnection, tenant: TenantId, run: RunId) -> StoredAsking | None:
    """None: nobody has asked this run for its slots."""
    row = (await connection.execute(_GIVEN_BACK, {"run": run, "tenant": tenant})).one_or_none()
    asked = asked_of(row) if row else None
    if row is None or asked is None:
        return None
    by = f"{row.experiment_number}.{row.trial_number}" if row.experiment_number else None
    return StoredAsking(row.number, asked, by)


async def load_allocation(connection: AsyncConnection, run: RunId) -> AllocationFacts | None:
    """What was granted to a run, and whether a later one has taken its place; None: there is no such run."""
    row = (await connection.execute(_ALLOCATION, {"run": run})).one_or_none()
    if row is None:
        return None
    return AllocationFacts(
        tenant=row.tenant,
        experiment_id=ExperimentId(row.experiment),
        trial_id=TrialId(row.trial),
        run_id=RunId(row.run),
        run_number=row.number,
        token=row.token,
        members=tuple(WorkerId(worker) for worker in row.workers),
        stale=row.is_behind,
        code_hash=row.code_hash,
        start_checkpoint=row.start_checkpoint,
    )


async def has_trial(connection: AsyncConnection, tenant: TenantId, trial: TrialId) -> bool:
    """Whether the tenant has had such a trial here."""
    return (await connection.execute(_CLOSED, {"trial": trial, "tenant": tenant})).one_or_none() is not None
