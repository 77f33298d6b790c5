"""Handles objects whose stored bytes differ from those verified."""

from functools import partial

from services.registry import metrics
from services.registry.checkpoints import events
from services.registry.checkpoints.store import checkpoints
from services.registry.core.checkpoint import CheckpointTrigger
from services.registry.storage.store import objects
from shared.bus import Unit


async def mark_corrupt(unit: Unit, key: str, reason: str) -> int:
    """Stop sharing the object, mark every checkpoint with it as corrupt, and return how many were good until now."""
    await objects.save_damaged(unit.connection, [key])
    holders = await checkpoints.lock_holders(unit.connection, key)
    for holder in holders:
        spoilt = await checkpoints.move_checkpoint(
            unit.connection, holder, CheckpointTrigger.found_damaged, unit.now, reason=reason
        )
        unit.emit(events.checkpoint_event(spoilt, settles=False))
        unit.after_commit(partial(metrics.count_corrupt, CheckpointTrigger.found_damaged))
    return len(holders)
