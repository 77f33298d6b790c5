"""Handlers of the scheduler's events about ended runs and workers, which decide whether more uploads are expected."""

from services.registry.checkpoints import abandoning
from services.registry.checkpoints.store import pending
from services.registry.core.checkpoint import CheckpointTrigger
from services.registry.runs import fences
from services.registry.runs.core.fencing import RunEnding
from services.registry.runs.handlers import facts_of
from services.registry.runs.store import trials
from shared.bus import Delivery, Unit
from shared.messages.runs import RunEnded
from shared.messages.workers import WorkerJoined, WorkerLost, WorkerRemoved


async def on_run_ended(unit: Unit, batch: list[Delivery[RunEnded]]) -> None:
    """Fence a run that was lost or forced, and abandon at once what it can no longer commit."""
    for delivery in sorted(batch, key=lambda one: (one.message.trial_id, one.message.number)):
        message = delivery.message
        await trials.save_grant(unit.connection, facts_of(message, delivery.envelope.tenant), unit.now)
        ending = _ending(message)
        await trials.save_ending(unit.connection, message, ending)
        await fences.refresh(unit, message.trial_id)
        if ending is not RunEnding.ordinary:
            await abandoning.abandon_unsaved(
                unit, message.run_id, CheckpointTrigger.fenced, f"its run ended as {message.outcome}"
            )


async def on_worker_joined(unit: Unit, batch: list[Delivery[WorkerJoined]]) -> None:
    """The worker responds: wait for its uploads."""
    await _save(unit, batch, "responding")


async def on_worker_lost(unit: Unit, batch: list[Delivery[WorkerLost]]) -> None:
    """The worker does not respond and may come back."""
    await _save(unit, batch, "silent")


async def on_worker_removed(unit: Unit, batch: list[Delivery[WorkerRemoved]]) -> None:
    """The worker is lost for good: the loop abandons what it has not uploaded."""
    await _save(unit, batch, "removed")


async def _save(
    unit: Unit,
    batch: list[Delivery[WorkerJoined]] | list[Delivery[WorkerLost]] | list[Delivery[WorkerRemoved]],
    state: str,
) -> None:
    for message in sorted((one.message for one in batch), key=lambda message: message.worker):
        await pending.save_worker(unit.connection, message.worker, message.version, state)


def _ending(message: RunEnded) -> RunEnding:
    if message.outcome == "lost":
        return RunEnding.lost
    return RunEnding.forced if message.forced else RunEnding.ordinary
