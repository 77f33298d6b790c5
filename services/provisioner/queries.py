"""Answers: what a machine costs, and what machines have cost."""

from dataclasses import dataclass

from services.provisioner import store
from services.provisioner.core.sizing import Policy
from shared.bus import Ask
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.db import Database
from shared.messages.instances import Cost, Costs, GetCosts, GetPrices, Price, Prices


@dataclass(frozen=True, slots=True)
class Queries:
    """One method a query; any replica answers."""

    database: Database
    policy: Policy
    clock: Clock

    def answers(self) -> dict[Question, Answer]:
        return {GetPrices: self.prices, GetCosts: self.costs}

    async def prices(self, ask: Ask, query: GetPrices) -> Prices:
        policy = self.policy
        price = Price(
            pool=policy.pool,
            driver=policy.driver,
            slots_per_instance=policy.slots_per_instance,
            price_per_hour=policy.price_per_hour,
        )
        return Prices(prices=(price,))

    async def costs(self, ask: Ask, query: GetCosts) -> Costs:
        async with self.database.system() as connection:
            found = await store.load_used(connection, query.since, self.clock.now())
        return Costs(
            costs=tuple(
                Cost(pool=used.pool, instances=used.instances, instance_hours=used.hours, cost=used.cost)
                for used in found
            )
        )
