"""Abandons checkpoints that will not be saved: all that a run announced, or one of them."""

from functools import partial
from uuid import UUID

from services.registry import metrics
from services.registry.checkpoints import events
from services.registry.checkpoints.store import checkpoints
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.core.checkpoint import CHECKPOINT, CheckpointTrigger
from shared.bus import Unit


async def abandon_unsaved(
    unit: Unit, run: UUID, trigger: CheckpointTrigger, reason: str, number: int | None = None
) -> None:
    """Abandon the checkpoints that the run announced and has not committed (`number`: only that one), and emit their events."""
    for checkpoint in await checkpoints.lock_unsaved(unit.connection, run):
        if number not in (None, checkpoint.number):
            continue
        await abandon(unit, checkpoint, trigger, reason)


async def abandon(
    unit: Unit, checkpoint: CheckpointRow, trigger: CheckpointTrigger, reason: str
) -> CheckpointRow:
    """Abandon a checkpoint that is not settled yet, emit the event, and return its new state."""
    if not CHECKPOINT.moves(checkpoint.state, trigger):
        return checkpoint
    moved = await checkpoints.move_checkpoint(unit.connection, checkpoint, trigger, unit.now, reason=reason)
    unit.emit(events.checkpoint_event(moved))
    unit.after_commit(partial(metrics.count_abandoned, trigger))
    return moved
