"""What the scheduler tells of a pool: the slots that stand idle, and their price."""

from dataclasses import dataclass
from functools import partial

from services.searcher.runner.dispatcher import Dispatcher
from services.searcher.store.capacity import save_capacity
from shared.bus import Delivery, Unit
from shared.messages.pools import PoolCapacity


@dataclass(frozen=True, slots=True)
class PoolHandlers:
    dispatcher: Dispatcher

    async def on_pool_measured(self, unit: Unit, batch: list[Delivery[PoolCapacity]]) -> None:
        """Keep what a pool has idle; searches are widened by it apart from here, since they belong to tenants."""
        for delivery in batch:
            await save_capacity(unit.connection, delivery.message)
        unit.then(partial(self.dispatcher.see_capacity, [delivery.message for delivery in batch]))
