"""Who keeps the site changes the rules of a pool and what tenants may hold, while things run; both outlive the leader."""

from uuid import UUID

from shared.ids import DEFAULT_TENANT, SITE, PoolName, new_id
from shared.messages.experiments import OperationRefused
from shared.messages.instances import ProviderChanged
from shared.messages.limits import LimitsChanged
from shared.messages.pools import EditPool, GetCluster, PoolCapacity, PoolRules
from shared.messages.queue import Explain
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.policies import plain_rules
from tests.support.waiting import eventually

RULES = plain_rules(
    order="fair_share",
    preemption=True,
    elastic=True,
    default_priority=10,
    ageing_s=60.0,
    half_life_s=3600.0,
    min_run_s=30.0,
    max_preemptions=3,
    quantum_s=600.0,
    defragment=True,
)


async def rules(around: Platform) -> PoolRules:
    view = await around.insist(GetCluster())
    found: PoolRules = next(pool.rules for pool in view.pools if pool.pool == POOL)
    return found


def limits(version: int, maximum: int | None) -> LimitsChanged:
    return LimitsChanged(
        limit_id=UUID(int=7), version=version, tenant=DEFAULT_TENANT, pool=POOL, maximum=maximum
    )


async def why(around: Platform, trial: UUID) -> str:
    told = await around.ask(Explain.model_validate({"trial_id": trial}), DEFAULT_TENANT)
    return str(told.code)


async def test_rules_of_a_pool_change_while_it_runs_and_stay_changed(around: Platform) -> None:
    async with around.scheduler() as leader:
        assert await rules(around) == PoolRules()
        await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=RULES), SITE)

        async def is_changed() -> bool:
            return await rules(around) == RULES

        await eventually(is_changed)
        await leader.kill()
    async with around.scheduler():
        assert await rules(around) == RULES, "settings do not take back what people said"
        back = EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=PoolRules())
        await around.tell(back, SITE)

        async def is_back() -> bool:
            return await rules(around) == PoolRules()

        await eventually(is_back)
        unknown = EditPool(operation_id=new_id(CLOCK), pool=PoolName("moon"), rules=RULES)
        await around.tell(unknown, SITE)
        await eventually(lambda: around.told(OperationRefused))
        refused = around.told(OperationRefused)[0]
        assert (refused.operation_id, refused.code) == (unknown.operation_id, "pool_unknown")


async def test_a_pool_that_was_made_at_the_provisioner_is_there_until_it_is_closed_there(
    around: Platform,
) -> None:
    made = ProviderChanged(
        pool=PoolName("burst"),
        version=1,
        driver="local",
        minimum=0,
        maximum=3,
        slots_per_instance=2,
        slot_kind="cpu",
        instances=0,
    )

    async def is_there() -> bool:
        view = await around.insist(GetCluster())
        return {(pool.pool, pool.max_slots, pool.exclusive) for pool in view.pools} >= {("burst", 6, True)}

    async def is_gone() -> bool:
        return "burst" not in {pool.pool for pool in (await around.insist(GetCluster())).pools}

    async with around.scheduler() as leader:
        await eventually(around.is_led)
        await around.tell(made, SITE)
        await eventually(is_there)
        closed = made.model_copy(update={"version": 2, "maximum": 0, "is_closing": True})
        await around.tell(closed, SITE)
        await eventually(is_gone)
        await leader.kill()
    async with around.scheduler():
        await eventually(around.is_led)
        assert await is_gone(), "also to a leader that has heard no event of it"
        await around.tell(made.model_copy(update={"version": 3}), SITE)
        await eventually(is_there)


async def test_what_slots_cost_is_passed_on_to_searches_and_outlives_the_leader(around: Platform) -> None:
    def provided(version: int, price: float | None) -> ProviderChanged:
        return ProviderChanged(
            pool=POOL,
            version=version,
            driver="local",
            minimum=0,
            maximum=1,
            slots_per_instance=2,
            slot_kind="cpu",
            instances=0,
            price_per_slot_hour=price,
        )

    def newest() -> float | None:
        told = around.told(PoolCapacity)
        return max(told, key=lambda one: one.version).price_per_slot_hour if told else None

    async with around.scheduler() as leader:
        await eventually(around.is_led)
        await around.tell(provided(1, 1.25), SITE)
        await eventually(lambda: newest() == 1.25)
        await around.tell(provided(2, 2.5), SITE)
        await eventually(lambda: newest() == 2.5)
        await leader.kill()
    before = len(around.told(PoolCapacity))
    async with around.scheduler():
        await eventually(lambda: len(around.told(PoolCapacity)) > before)
        assert newest() == 2.5
        await around.tell(provided(3, None), SITE)
        await eventually(lambda: newest() is None)


async def test_what_a_tenant_may_hold_binds_until_a_newer_word(around: Platform) -> None:
    async with around.scheduler(), around.worker("q1", slots=2) as worker:
        await eventually(lambda: around.told(WorkerJoined))
        await around.tell(limits(version=2, maximum=1), SITE)
        first, second = new_trial(), new_trial()

        async def is_limited() -> bool:
            rows = await around.rows("SELECT maximum FROM scheduler.quota")
            return [row["maximum"] for row in rows] == [1]

        await eventually(is_limited)
        await around.want(first)
        await eventually(lambda: first in worker.running)
        await around.want(second)

        async def is_held_up() -> bool:
            return await why(around, second) == "tenant_quota_reached"

        await eventually(is_held_up)
        await around.tell(limits(version=1, maximum=None), SITE)
        await around.tell(limits(version=3, maximum=2), SITE)
        await eventually(lambda: second in worker.running)
        (row,) = await around.rows("SELECT maximum, version FROM scheduler.quota")
        assert (row["maximum"], row["version"]) == (2, 3)
        for trial in (first, second):
            await worker.exit(trial)
