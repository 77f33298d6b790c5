"""The provisioner is killed for real wherever it may be: machines outlive it, and none is made twice or forgotten."""

import asyncio
import os
import signal

import pytest

from services.provisioner.reconcile import driver_calls, loop as reconcile
from shared.bus import units
from shared.runtime import faults
from tests.integration.provisioner.neighbours import Around
from tests.integration.servers import Servers
from tests.support.drill_share import every
from tests.support.waiting import TIMEOUT_S, eventually

BEFORE_THE_WORKER = [reconcile.BEFORE_INTENT, reconcile.AFTER_INTENT, driver_calls.BEFORE_LAUNCH]
STARTING = [
    *((point, 1) for point in (*BEFORE_THE_WORKER, driver_calls.AFTER_LAUNCH)),
    (units.BEFORE_COMMIT, 2),
    (units.AFTER_COMMIT, 2),
]
ENDING = [(driver_calls.AFTER_END, 1), (units.AFTER_COMMIT, 2)]


def test_every_point_of_the_provisioner_is_tried() -> None:
    tried = {point for point, _ in (*STARTING, *ENDING)}
    assert {name for name in faults.names() if name.startswith("provisioner.")} <= tried


@pytest.mark.parametrize(("point", "nth"), every(3, STARTING))
async def test_killed_while_it_starts_one_there_is_exactly_one(world: Around, point: str, nth: int) -> None:
    async with world.provisioner(faults=f"{point}:{nth}:kill") as first:
        assert await asyncio.wait_for(first.wait(), TIMEOUT_S) == -signal.SIGKILL
    await world.let_the_lease_run_out()
    if point in BEFORE_THE_WORKER:
        assert not world.running()
    async with world.provisioner():
        (worker,) = await world.join_all(1)
        await asyncio.sleep(1.2)
        assert world.has(1)()
        assert len(world.toys()[0].starts) == 1
        # What was committed is told, perhaps late: versions say what is newest.
        await eventually(lambda: {"requested", "ready"} <= set(world.states(worker)))
        assert world.states(worker)[-1] == "ready"
        assert len(await world.rows("SELECT id FROM provisioner.instance")) == 1


@pytest.mark.parametrize(("point", "nth"), every(2, ENDING))
async def test_killed_while_it_ends_one_that_one_is_gone_and_no_other(
    world: Around, point: str, nth: int
) -> None:
    async with world.provisioner(minimum=1, maximum=2):
        await world.join_all(1)
        await world.demand(waiting=1)
        await world.join_all(2)
        await world.demand(waiting=0, idle=2)
        await eventually(lambda: "ready" in world.states(world.toys()[1].folder.name))
    async with world.provisioner(
        minimum=1, maximum=2, idle_timeout_s=0.5, faults=f"{point}:{nth}:kill"
    ) as child:
        await eventually(lambda: bool(world.drains) or child.returncode is not None)
        if world.drains:
            await world.drained(world.drains[0].worker)
        assert await asyncio.wait_for(child.wait(), TIMEOUT_S) == -signal.SIGKILL
    await world.let_the_lease_run_out()
    async with world.provisioner(minimum=1, maximum=2, idle_timeout_s=0.5):
        await eventually(lambda: bool(world.drains))
        leaving = world.drains[0].worker
        if "drained" not in world.states(leaving):
            await world.drained(leaving)
        await eventually(world.has(1))
        await eventually(lambda: world.states(leaving)[-1] == "terminated")
        assert world.running()[0].folder.name != leaving
        assert {drain.worker for drain in world.drains} == {leaving}
        assert all(len(toy.starts) == 1 for toy in world.toys())


async def test_workers_outlive_a_restart_and_are_adopted(world: Around) -> None:
    async with world.provisioner(minimum=2, maximum=2):
        await world.join_all(2)
    assert world.has(2)(), "an end in order leaves them running"
    async with world.provisioner(minimum=2, maximum=2) as child:
        await asyncio.sleep(1.5)
        child.kill()
        await child.wait()
    await world.let_the_lease_run_out()
    async with world.provisioner(minimum=2, maximum=2):
        toy = world.running()[0]
        await asyncio.sleep(1)
        assert world.has(2)()
        assert all(len(one.starts) == 1 for one in world.toys())
        os.kill(toy.pid, signal.SIGKILL)
        await eventually(lambda: len(toy.starts) == 2)


async def test_what_happened_while_it_was_away_is_caught_up_with(world: Around) -> None:
    async with world.provisioner(minimum=1, maximum=3):
        await world.join_all(1, used=1)
    toy = world.running()[0]
    os.kill(toy.pid, signal.SIGKILL)
    await world.demand(waiting=1)
    await eventually(lambda: not toy.runs)
    async with world.provisioner(minimum=1, maximum=3):
        await eventually(world.has(2))
        await eventually(lambda: len(toy.starts) == 2)


async def test_a_stand_by_takes_over_when_the_leader_is_killed(world: Around) -> None:
    async with world.provisioner(maximum=2) as leader:
        await world.join_all(1, used=1)
        async with world.provisioner(maximum=2):
            leader.kill()
            await leader.wait()
            await world.let_the_lease_run_out()
            await world.demand(waiting=1)
            await eventually(world.has(2))
            assert all(len(toy.starts) == 1 for toy in world.toys())


async def test_a_frozen_leader_that_wakes_up_does_nothing(world: Around) -> None:
    async with world.provisioner(maximum=3) as leader:
        await world.join_all(1, used=1)
        async with world.provisioner(maximum=3):
            leader.send_signal(signal.SIGSTOP)
            await world.let_the_lease_run_out()
            await world.demand(waiting=1)
            await eventually(world.has(2))
            leader.send_signal(signal.SIGCONT)
            await asyncio.sleep(2)
            assert world.has(2)()
            assert len(await world.rows("SELECT id FROM provisioner.instance")) == 2


async def test_servers_that_go_away_and_come_back(world: Around, servers: Servers) -> None:
    async with world.provisioner(maximum=2) as child:
        await world.join_all(1, used=1)
        toy = world.running()[0]
        for server in (servers.nats, servers.postgres):
            server.kill()
            await asyncio.sleep(2)
            servers.restart(server)
        assert child.returncode is None
        await eventually(world.tells_and_hears)
        await world.demand(waiting=1)
        await eventually(world.has(2))
        assert len(toy.starts) == 1
