"""Answers: what a machine costs, and what machines have cost."""

from dataclasses import dataclass

from services.provisioner import store
from services.provisioner.core.sizing import Policy
from shared.bus import Ask
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.db import Database
from shared.messages.instances import Cost, Costs, GetCosts, GetPrices, Price, Prices
from shared.messages.plans import GetProvided, ProvidedPool, ProvidedPools


@dataclass(frozen=True, slots=True)
class Queries:
    """One method a query; any replica answers."""

    database: Database
    policy: Policy
    clock: Clock

    def answers(self) -> dict[Question, Answer]:
        return {GetPrices: self.prices, GetCosts: self.costs, GetProvided: self.provided}

    async def prices(self, ask: Ask, query: GetPrices) -> Prices:
        policy = self.policy
        price = Price(
            pool=policy.pool,
            driver=policy.driver,
            slots_per_instance=policy.slots_per_instance,
            price_per_hour=policy.price_per_hour,
        )
        return Prices(prices=(price,))

    async def provided(self, ask: Ask, query: GetProvided) -> ProvidedPools:
        policy = self.policy
        async with self.database.system() as connection:
            standing = await store.load_standing(connection, policy.pool)
        pool = ProvidedPool(
            pool=policy.pool,
            slots_per_instance=policy.slots_per_instance,
            slot_kind=policy.kind,
            minimum=policy.minimum,
            maximum=policy.maximum,
            idle_timeout_s=policy.idle_timeout.total_seconds(),
            price_per_hour=policy.price_per_hour,
            labels=dict(policy.labels),
            standing=standing.workers,
            boot_s=standing.boot_s,
        )
        return ProvidedPools(pools=(pool,))

    async def costs(self, ask: Ask, query: GetCosts) -> Costs:
        async with self.database.system() as connection:
            found = await store.load_used(connection, query.since, self.clock.now())
        return Costs(
            costs=tuple(
                Cost(pool=used.pool, instances=used.instances, instance_hours=used.hours, cost=used.cost)
                for used in found
            )
        )
