"""Load, decide, save for what follows from tokens and endings; used by the handlers of runs and by the workers' edge."""

from functools import partial
from uuid import UUID

from services.registry import events, metrics
from services.registry.core.checkpoint import CHECKPOINT, Trigger
from services.registry.store import checkpoints, trials
from services.registry.store.checkpoints import Checkpoint
from services.registry.store.trials import StoredRun
from shared.bus import Unit
from shared.deleting import is_gone
from shared.errors import Broken, Rejected
from shared.messages.runs import RUN_DELETED, AllocationFacts

DELETED = "its experiment was deleted; nothing more of it is taken"


async def grant(unit: Unit, facts: AllocationFacts) -> list[StoredRun]:
    """Make a run known and fence its predecessors; return the trial's runs, the trial locked."""
    await trials.save_grant(unit.connection, facts, unit.now)
    return await refresh(unit, facts.trial_id)


async def is_deleted(unit: Unit, facts: AllocationFacts) -> bool:
    """Whether all that the run was part of is gone: nothing of it is taken, or made known again."""
    return await is_gone(unit, "registry", facts.experiment_id, facts.tenant)


async def refresh(unit: Unit, trial: UUID) -> list[StoredRun]:
    """Lock the trial and mark the runs whose tokens are stale now; return all its runs."""
    known = await trials.lock_trial(unit.connection, trial)
    stale = [run.run for run in known if run.fence.is_stale and not run.is_stale]
    if stale:
        await trials.save_fences(unit.connection, trial, stale)
    return known


async def locked_run(unit: Unit, facts: AllocationFacts) -> tuple[StoredRun, list[StoredRun]]:
    """Return the asking run and all runs of its trial, the trial locked; makes it known when no event has yet."""
    known = await trials.lock_trial(unit.connection, facts.trial_id)
    if not any(run.run == facts.run_id for run in known):
        if await is_deleted(unit, facts):
            raise Rejected(RUN_DELETED, DELETED)
        known = await grant(unit, facts)
    for run in known:
        if run.run == facts.run_id:
            return run, known
    raise Broken(f"run {facts.run_id} was stored and cannot be read")


async def abandon_unsaved(
    unit: Unit, run: UUID, trigger: Trigger, reason: str, number: int | None = None
) -> None:
    """Give up what the run announced and has not committed (`number`: that checkpoint alone), and say so."""
    for checkpoint in await checkpoints.lock_unsaved(unit.connection, run):
        if number not in (None, checkpoint.number):
            continue
        await give_up(unit, checkpoint, trigger, reason)


async def give_up(unit: Unit, checkpoint: Checkpoint, trigger: Trigger, reason: str) -> Checkpoint:
    """Abandon a checkpoint that is not settled yet, emit it, and return it as it is now."""
    if not CHECKPOINT.moves(checkpoint.state, trigger):
        return checkpoint
    moved = await checkpoints.move_checkpoint(unit.connection, checkpoint, trigger, unit.now, reason=reason)
    unit.emit(events.checkpoint_event(moved))
    unit.then(partial(metrics.count_abandoned, trigger))
    return moved
