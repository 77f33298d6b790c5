"""Applies fencing: loads runs, decides and saves; used by event handlers and by the workers' requests."""

from uuid import UUID

from services.registry.runs.store import trials
from services.registry.runs.store.trials import StoredRun
from shared.bus import Unit
from shared.bus.data_deletion import has_been_deleted
from shared.errors import Broken, Rejected
from shared.messages.runs import RUN_DELETED, AllocationFacts

DELETED = "the run's experiment was deleted; its data is no longer accepted"


async def grant(unit: Unit, facts: AllocationFacts) -> list[StoredRun]:
    """Create a run and fence its predecessors; return the trial's runs, the trial locked."""
    await trials.save_grant(unit.connection, facts, unit.now)
    return await refresh(unit, facts.trial_id)


async def is_deleted(unit: Unit, facts: AllocationFacts) -> bool:
    """Return whether the run's experiment or tenant was deleted: its data is rejected, and it is not recreated."""
    return await has_been_deleted(unit, "registry", facts.experiment_id, facts.tenant)


async def refresh(unit: Unit, trial: UUID) -> list[StoredRun]:
    """Lock the trial and mark runs whose tokens are stale now; return all its runs."""
    known = await trials.lock_trial(unit.connection, trial)
    stale = [run.run for run in known if run.fence.is_stale and not run.is_stale]
    if stale:
        await trials.save_fences(unit.connection, trial, stale)
    return known


def require(refusal: str | None, run: UUID, worker: str) -> None:
    """Raise `Rejected` if there is a refusal: the worker gets no presigned URL of the run."""
    if refusal is not None:
        raise Rejected(
            "former_member",
            f"worker {worker} gets no presigned URL of run {run}: {refusal}",
            hint="only members of a running run get them, and after its end only for files that they still owe",
        )


async def locked_run(unit: Unit, facts: AllocationFacts) -> tuple[StoredRun, list[StoredRun]]:
    """Return the asking run and all runs of its trial, the trial locked; creates the run if no event has yet."""
    known = await trials.lock_trial(unit.connection, facts.trial_id)
    if not any(run.run == facts.run_id for run in known):
        if await is_deleted(unit, facts):
            raise Rejected(RUN_DELETED, DELETED)
        known = await grant(unit, facts)
    for run in known:
        if run.run == facts.run_id:
            return run, known
    raise Broken(f"run {facts.run_id} was stored but cannot be loaded")
