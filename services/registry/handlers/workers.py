"""What the scheduler says of workers: whether one is heard, may come back, or is lost for good with what only it holds."""

from services.registry.store import pending
from shared.bus import Delivery, Unit
from shared.messages.workers import WorkerGone, WorkerJoined, WorkerLost


async def on_worker_joined(unit: Unit, batch: list[Delivery[WorkerJoined]]) -> None:
    """It is heard: what it holds is waited for."""
    await _save(unit, batch, "here")


async def on_worker_lost(unit: Unit, batch: list[Delivery[WorkerLost]]) -> None:
    """It is not heard, and may come back."""
    await _save(unit, batch, "silent")


async def on_worker_gone(unit: Unit, batch: list[Delivery[WorkerGone]]) -> None:
    """It will not come back: the loop gives up what it has not uploaded."""
    await _save(unit, batch, "gone")


async def _save(
    unit: Unit,
    batch: list[Delivery[WorkerJoined]] | list[Delivery[WorkerLost]] | list[Delivery[WorkerGone]],
    state: str,
) -> None:
    for message in sorted((one.message for one in batch), key=lambda message: message.worker):
        await pending.save_worker(unit.connection, message.worker, message.version, state)
