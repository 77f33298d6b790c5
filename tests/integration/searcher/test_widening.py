"""A search grows while the scheduler tells of idle slots, and goes back when somebody waits."""

from shared.ids import SITE, PoolName
from shared.messages.pools import PoolCapacity
from tests.integration.searcher.neighbours import Neighbours
from tests.integration.searcher.searches import agree_with_the_rule, document, rows
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

CONFIG = document(
    {
        "name": "random",
        "max_trials": 12,
        "max_concurrent_trials": 2,
        "widen_to": 6,
        "widen_max_price": 2.0,
    }
)
WIDENED = "SELECT facts FROM searcher.journal WHERE experiment = :e AND kind = 'widened' ORDER BY position"


async def test_idle_slots_widen_a_search_until_somebody_waits_or_they_are_too_dear(
    service: object, neighbours: Neighbours, postgres: TestDatabase
) -> None:
    async def tell(
        version: int, idle: int, waiting: int, pool: str = "default", price: float | None = None
    ) -> None:
        capacity = PoolCapacity(
            pool=PoolName(pool),
            version=version,
            slots=5,
            used_slots=5 - idle,
            waiting_slots=waiting,
            idle_slots=idle,
            price_per_slot_hour=price,
        )
        await neighbours.publish(capacity, tenant=SITE)

    async def limits() -> list[object]:
        return [row.facts["limit"] for row in await rows(postgres, WIDENED, e=experiment)]

    async def are(*expected: int) -> None:
        async def hold() -> bool:
            return await limits() == list(expected)

        await eventually(hold)

    experiment = await neighbours.submit(CONFIG)
    await eventually(lambda: len(neighbours.received.requests(experiment)) == 2)
    await tell(1, 9, 0, pool="another")
    await tell(1, 3, 0)
    await are(5)
    await eventually(lambda: len(neighbours.received.requests(experiment)) == 5)
    await tell(2, 0, 4)
    await are(5, 2)
    await tell(3, 30, 0, price=2.0)
    await are(5, 2, 6)
    await eventually(lambda: len(neighbours.received.requests(experiment)) == 6)
    await tell(4, 30, 0, price=2.5)
    await are(5, 2, 6, 2)
    await agree_with_the_rule(neighbours, experiment, CONFIG)
