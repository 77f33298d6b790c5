"""The whole provisioner rents from AWS, as moto and the proxy play it: in one call, once, elsewhere where there is nothing, and gives back."""

import asyncio
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from deploy.embedded.host.ports import free_ports
from services.provisioner.reconcile import driver_calls
from shared.clock import SystemClock
from shared.messages.instances import InstanceChanged, ProviderChanged
from tests.integration.provisioner.neighbours import Around
from tests.integration.provisioner.renting import RENTED, Rented
from tests.support.ec2_proxy import FaultyEc2, faulty_ec2
from tests.support.metrics import scrape
from tests.support.waiting import TIMEOUT_S, eventually

CHEAP, DEAR = ("g5.xlarge", "us-east-1a"), ("g5.xlarge", "us-east-1b")


@pytest.fixture
async def ec2(moto: str) -> AsyncIterator[FaultyEc2]:
    async with faulty_ec2(moto) as proxy:
        yield proxy


@pytest.fixture
async def rented(world: Around, ec2: FaultyEc2, tmp_path: Path) -> Rented:
    return Rented(world, ec2, tmp_path, {CHEAP: 1.0, DEAR: 2.0})


async def test_what_is_needed_is_rented_in_one_call_where_it_is_cheapest(rented: Rented) -> None:
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        await rented.need(3)
        await eventually(lambda: rented.ec2.calls["RunInstances"] == 1)
        await _has(rented, joining=3)
        published = [one for one in rented.world.published(InstanceChanged) if one.pool == RENTED]
        assert {one.price_per_hour for one in published} == {1.0}
        assert len({query.worker for query in rented.world.issued}) == 3, "each has a token of its own"
        await asyncio.sleep(1.2)
        assert rented.ec2.calls["RunInstances"] == 1
        await _costs(rented, machines=3, price=1.0)


async def test_what_one_zone_has_not_is_rented_in_another_and_why_is_told(rented: Rented) -> None:
    rented.ec2.faults.capacity[CHEAP] = 2
    (side_port,) = free_ports(1)
    rented.world.environment["MUSTER_SIDE__PORT"] = str(side_port)
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        await rented.need(3)
        await _has(rented, joining=3, failed=1)
        assert any("only 2 of 3 machines were available" in (one.fault or "") for one in _told(rented))
        metrics = scrape(side_port)
        refused = {"provider": "aws", "cause": "no_capacity"}
        assert metrics.total("muster_provisioner_refusals_total", **refused) == 1
        assert metrics.total("muster_provisioner_machines_launched_total", provider="aws") == 3
        calls = {"provider": "aws", "operation": "observe", "error_type": ""}
        assert metrics.total("muster_provisioner_call_duration_seconds_count", **calls) > 0


async def test_killed_after_the_call_it_finds_the_machines_that_came_as_soon_as_it_can_look(
    rented: Rented,
) -> None:
    settings = rented.settings()
    async with rented.world.provisioner(faults=f"{driver_calls.AFTER_LAUNCH}:1:kill", **settings) as first:
        await rented.define()
        await rented.need(3)
        assert await asyncio.wait_for(first.wait(), TIMEOUT_S) == -signal.SIGKILL
    await rented.world.let_the_lease_run_out()
    rented.ec2.faults.refusals["DescribeInstances"] = ["ExpiredToken"]
    async with rented.world.provisioner(**settings):
        await _has(rented, joining=3)
        faults = [one.fault or "" for one in _told(rented)]
        assert any("aws did not list its machines" in one and "ExpiredToken" in one for one in faults)
        await eventually(lambda: _told(rented)[-1].fault is None)
    assert sum((await rented.states()).values()) == 3


async def test_a_pool_that_is_given_up_goes_with_who_has_not_joined_and_is_told_of_once(
    rented: Rented,
) -> None:
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        await rented.need(1)
        await _has(rented, joining=1)
        await rented.give_up()
        await _has(rented, terminated=1)

        async def forgotten() -> bool:
            rows = await rented.world.rows("SELECT definition FROM provisioner.provider WHERE is_closing")
            return [row["definition"] for row in rows] == [None]

        await eventually(forgotten)
        await asyncio.sleep(0.5)
        before = len(rented.world.published(ProviderChanged))
        for _ in range(3):
            await rented.need(0)
            await asyncio.sleep(0.3)
        assert len(rented.world.published(ProviderChanged)) == before


def _told(rented: Rented) -> list[ProviderChanged]:
    """What was told of the pool, the newest last."""
    published = [one for one in rented.world.published(ProviderChanged) if one.pool == RENTED]
    return sorted(published, key=lambda one: one.version)


async def _costs(rented: Rented, machines: int, price: float) -> None:
    """The ledger says it, each machine on each day that it stood, and nothing of the days before."""
    now = SystemClock().now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    rows = await rented.spending(today - timedelta(days=2), now)
    assert {row.instances for row in rows} == {machines}
    assert sum(row.slot_hours for row in rows) == pytest.approx(sum(row.hours for row in rows))
    assert {(row.kind, row.purchase) for row in rows} == {("g5.xlarge", "on_demand")}
    hours = sum(row.hours for row in rows)
    assert 0 < hours < machines * 0.1
    assert sum(row.cost for row in rows) == pytest.approx(hours * price)
    assert await rented.spending(today - timedelta(days=9), today - timedelta(days=2)) == []


async def _has(rented: Rented, **states: int) -> None:
    async def claim() -> bool:
        return await rented.states() == states

    await eventually(claim)
