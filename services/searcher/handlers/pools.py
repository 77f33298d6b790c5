"""Handle the scheduler's reports of a pool: idle slots and their price."""

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
        """Store a pool's idle slots. A background loop widens the searches, because they belong to tenants."""
        for delivery in batch:
            await save_capacity(unit.connection, delivery.message)
        unit.after_commit(partial(self.dispatcher.on_capacity, [delivery.message for delivery in batch]))
