"""Answer queries about prices and costs of machines."""

from dataclasses import dataclass

from services.provisioner import store
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.pools.current_pools import Pools
from shared.bus import RequestContext
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.messages.instances import Cost, Costs, GetCosts, GetPrices, Price, Prices
from shared.messages.plans import GetProvided, ProvidedPool, ProvidedPools


@dataclass(frozen=True, slots=True)
class CostQueries:
    """One method for each query; any replica answers."""

    database: Database
    pools: Pools
    clock: Clock

    def answers(self) -> dict[Question, Answer]:
        return {GetPrices: self.prices, GetCosts: self.costs, GetProvided: self.provided}

    async def prices(self, ask: RequestContext, query: GetPrices) -> Prices:
        return Prices(
            prices=tuple(
                Price(
                    pool=spec.pool,
                    driver=spec.driver,
                    slots_per_instance=spec.slots_per_instance,
                    price_per_hour=spec.price_per_hour,
                )
                for spec in await self._specs()
            )
        )

    async def provided(self, ask: RequestContext, query: GetProvided) -> ProvidedPools:
        pools = []
        for spec in await self._specs():
            async with self.database.system() as connection:
                joined = await store.load_provided_workers(connection, spec.pool)
            pools.append(
                ProvidedPool(
                    pool=spec.pool,
                    slots_per_instance=spec.slots_per_instance,
                    slot_kind=spec.kind,
                    minimum=spec.minimum,
                    maximum=spec.maximum,
                    idle_timeout_s=spec.idle_timeout.total_seconds(),
                    price_per_hour=spec.price_per_hour,
                    labels=dict(spec.labels),
                    rented=joined.workers,
                    boot_s=joined.boot_s,
                )
            )
        return ProvidedPools(pools=tuple(pools))

    async def _specs(self) -> list[PoolSpec]:
        async with self.database.system() as connection:
            rows = await store.load_providers(connection)
        return [spec for row in rows if (spec := self.pools.spec_of(row, ())[0]) is not None]

    async def costs(self, ask: RequestContext, query: GetCosts) -> Costs:
        async with self.database.system() as connection:
            found = await store.load_used(connection, query.since, self.clock.now())
        return Costs(
            costs=tuple(
                Cost(pool=used.pool, instances=used.instances, instance_hours=used.hours, cost=used.cost)
                for used in found
            )
        )
