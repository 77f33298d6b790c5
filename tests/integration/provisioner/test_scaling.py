"""Up with the demand, down when nobody needs it, and told to everybody: on real NATS and Postgres, with real processes."""

import asyncio
import os
import shutil
import signal
import time

from services.provisioner.drivers.processes import find_by_variable
from shared.bus import Bus
from shared.ids import SITE, PoolName
from shared.messages.instances import GetCosts, GetPrices, InstanceChanged
from shared.messages.machine_pools import EndInstance, GetMachinePools
from tests.integration.provisioner.neighbours import Around
from tests.support.waiting import eventually

LIFE = ["requested", "launching", "joining", "ready"]


async def test_the_minimum_comes_without_demand_and_each_state_is_told(world: Around) -> None:
    async with world.provisioner(minimum=2, maximum=3):
        workers = await world.join_all(2)
        assert sorted(query.worker or "" for query in world.issued) == sorted(workers)
        await eventually(lambda: [world.states(worker) for worker in workers] == [LIFE, LIFE])
        await eventually(lambda: world.provider.instances == 2)
        assert (world.provider.minimum, world.provider.maximum, world.provider.fault) == (2, 3, None)


async def test_what_machines_are_labelled_with_is_told_and_given_to_them(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=1, labels="rack=r7,zone=a"):
        (worker,) = await world.join_all(1)
        await eventually(lambda: world.provider.labels == {"rack": "r7", "zone": "a"})
        assert list(find_by_variable("MUSTER_WORKER__LABELS", "rack=r7,zone=a")), worker


async def test_demand_brings_more_to_the_maximum_and_no_more(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=3):
        await world.join_all(1, used=1)
        await world.demand(waiting=1)
        await eventually(world.has(2))
        for _ in range(3):
            await world.demand(waiting=1)
        await asyncio.sleep(0.5)
        assert world.has(2)(), "one that is coming answers the demand"
        await world.demand(waiting=7)
        await eventually(world.has(3))
        await world.demand(waiting=9, pool=PoolName("another"))
        await asyncio.sleep(1.5)
        assert world.has(3)()


async def test_idle_ones_go_after_the_timeout_when_the_scheduler_has_emptied_them(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=2, idle_timeout_s=1):
        await world.join_all(1, used=1)
        await world.demand(waiting=1)
        first, second = await world.join_all(2, used=1)
        await world.demand(waiting=0)
        await asyncio.sleep(1.5)
        assert not world.drains, "they work"
        world.used[first] = 0
        began = time.monotonic()
        await eventually(lambda: [drain.worker for drain in world.drains] == [first])
        assert time.monotonic() - began > 0.9
        await asyncio.sleep(0.5)
        assert len(world.running()) == 2, "only the scheduler says that it is not needed"
        await world.drained(first)
        await eventually(world.has(1))
        await eventually(
            lambda: world.states(first)[4:] == ["draining", "drained", "terminating", "terminated"]
        )
        world.used[second] = 0
        await asyncio.sleep(1.5)
        assert len(world.drains) == 1, "the minimum stays"


async def test_one_that_is_draining_is_taken_back_when_there_is_demand(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=2, idle_timeout_s=0.5):
        await world.join_all(1)
        await world.demand(waiting=1)
        await world.join_all(2)
        await world.demand(waiting=0, idle=2)
        await eventually(lambda: len(world.drains) == 1)
        await world.demand(waiting=1)
        await eventually(lambda: [drain.undo for drain in world.drains] == [False, True])
        assert world.drains[0].worker == world.drains[1].worker
        assert len(world.toys()) == 2


async def test_one_that_takes_no_more_work_goes_though_the_pool_is_full_and_something_waits(
    world: Around,
) -> None:
    async with world.provisioner(minimum=0, maximum=1, idle_timeout_s=0.5):
        await world.demand(waiting=1)
        (worker,) = await world.join_all(1)
        await world.join(worker, state="draining")
        await world.demand(waiting=1)
        await eventually(lambda: worker in {one.worker for one in world.drains})


async def test_a_dead_daemon_is_started_again_under_its_id(world: Around) -> None:
    async with world.provisioner():
        (worker,) = await world.join_all(1)
        toy = world.running()[0]
        os.kill(toy.pid, signal.SIGKILL)
        await eventually(lambda: len(toy.starts) == 2)
        await eventually(world.has(1))
        await eventually(lambda: world.states(worker)[-1:] == ["ready"])
        assert world.states(worker) == LIFE, "a restart is no change of the instance"


async def test_a_vanished_machine_is_told_as_lost_and_replaced(world: Around) -> None:
    async with world.provisioner():
        (worker,) = await world.join_all(1)
        toy = world.running()[0]
        pid = toy.pid
        shutil.rmtree(toy.folder)
        await eventually(world.has(1))
        await eventually(lambda: world.states(worker)[-1] == "lost")
        assert world.running()[0].folder != toy.folder
        await eventually(lambda: not _lives(pid))


async def test_a_worker_that_ends_at_once_is_started_later_and_later(world: Around) -> None:
    async with world.provisioner(behaviour="fail"):
        await eventually(lambda: len(world.toys()) == 1)
        await eventually(lambda: len(world.toys()[0].starts) >= 2)
        await asyncio.sleep(3)
        assert len(world.toys()[0].starts) <= 5, "it is not started in a loop"


async def test_a_launch_that_fails_is_the_pools_fault_until_one_works(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=2):
        await world.join_all(1, used=1)
        world.refusal = "the pool is closed"
        await world.demand(waiting=1)
        await eventually(lambda: "the pool is closed" in (world.provider.fault or ""))
        assert len(world.toys()) == 1
        world.refusal = None
        await world.join_all(2, used=1)
        await eventually(lambda: world.provider.fault is None)

    def failed() -> set[str]:
        return {one.state for one in world.published(InstanceChanged) if one.reason == "the pool is closed"}

    await eventually(failed)
    assert failed() == {"requested"}


async def test_a_pool_says_for_whom_nothing_is_rented_and_other_tenants_are_not_told(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=1):
        await world.join_all(1)
        await world.demand(waiting=0, unaffordable=4)
        credentials = world.servers.keys.credentials("gateway")
        async with await Bus.connect(world.servers.nats.url, "gateway", credentials) as bus:

            async def says() -> bool:
                (pool,) = (await bus.ask(GetMachinePools(), SITE)).pools
                return "no machine is rented for 4 waiting slots" in (pool.fault or "")

            await eventually(says)
        assert world.provider.fault is None, "that goes into the explanation of whatever waits"


async def test_one_that_people_end_gets_no_more_work_before_it_goes(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=1):
        (worker,) = await world.join_all(1, used=1)
        one = next(
            published.instance_id
            for published in world.published(InstanceChanged)
            if published.worker == worker
        )
        credentials = world.servers.keys.credentials("gateway")
        async with await Bus.connect(world.servers.nats.url, "gateway", credentials) as bus:
            await bus.ask(EndInstance(instance_id=one, reason="an operator ended it"), SITE)
        await world.is_told(worker, "failed")
        await eventually(lambda: [(drain.worker, drain.undo) for drain in world.drains] == [(worker, False)])


async def test_prices_and_costs_come_from_what_stood(world: Around) -> None:
    began = time.monotonic()
    async with world.provisioner(minimum=1, maximum=1, price_per_hour=36.0):
        await world.join_all(1)
        credentials = world.servers.keys.credentials("gateway")
        async with await Bus.connect(world.servers.nats.url, "gateway", credentials) as bus:
            (price,) = (await bus.ask(GetPrices(), SITE)).prices
            assert (price.pool, price.slots_per_instance, price.price_per_hour) == ("default", 1, 36.0)
            await asyncio.sleep(1)
            (cost,) = (await bus.ask(GetCosts(), SITE)).costs
            assert cost.instances == 1
            assert 0.01 <= cost.cost <= (time.monotonic() - began) * 0.01
            assert abs(cost.cost - cost.instance_hours * 36.0) < 1e-9
        await eventually(lambda: world.provider.price_per_slot_hour == 36.0)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
