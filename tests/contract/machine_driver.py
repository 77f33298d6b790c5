"""What every driver of machines must do: one suite, run on each adapter. Its workers run until they are told to end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import pytest

from services.provisioner.core.intents import Presence
from services.provisioner.drivers.base import Driver, Order
from shared.ids import PoolName, WorkerId
from tests.support.waiting import PATIENCE_S, eventually

D = TypeVar("D", bound=Driver)
Observed = Callable[[], Awaitable[bool]]


class MachineDriverContract(Generic[D]):
    """Subclasses give `driver`, a second one of the same machines, and ways to break a worker and a machine."""

    @pytest.fixture
    def driver(self) -> D:
        raise NotImplementedError

    def again(self, driver: D) -> D:
        """A driver of the same machines, as after a restart of the provisioner."""
        raise NotImplementedError

    async def kill_worker(self, driver: D, worker: WorkerId) -> None:
        """Its process dies; the machine stays."""
        raise NotImplementedError

    async def lose_machine(self, driver: D, worker: WorkerId) -> None:
        """The machine is gone, with all that was on it."""
        raise NotImplementedError

    async def starts(self, driver: D, worker: WorkerId) -> int:
        """How often its worker was started."""
        raise NotImplementedError

    async def test_a_machine_from_order_to_end(self, driver: D) -> None:
        await driver.launch(order("w-1"))
        await eventually(sees(driver, "w-1", Presence.RUNNING))
        await driver.terminate(WorkerId("w-1"))
        assert "w-1" not in await driver.observe()

    async def test_an_order_that_is_repeated_makes_one_worker(self, driver: D) -> None:
        await asyncio.gather(*(driver.launch(order("w-2")) for _ in range(4)))
        await asyncio.gather(*(self.again(driver).launch(order("w-2")) for _ in range(4)))
        await driver.observe()
        await driver.launch(order("w-2"))
        await self._has_started(driver, "w-2", 1)

    async def test_workers_outlive_the_driver_and_are_found_by_the_next(self, driver: D) -> None:
        await driver.launch(order("w-3"))
        second = self.again(driver)
        await eventually(sees(second, "w-3", Presence.RUNNING))
        await second.launch(order("w-3"))
        await self._has_started(second, "w-3", 1)
        await second.terminate(WorkerId("w-3"))
        assert "w-3" not in await driver.observe()

    async def test_a_dead_worker_is_told_at_once_and_starts_again_on_its_machine(self, driver: D) -> None:
        told = asyncio.Event()
        driver.watch(told.set)
        await driver.launch(order("w-4"))
        await eventually(sees(driver, "w-4", Presence.RUNNING))
        await self._has_started(driver, "w-4", 1)
        await self.kill_worker(driver, WorkerId("w-4"))
        await asyncio.wait_for(told.wait(), PATIENCE_S)
        await eventually(sees(driver, "w-4", Presence.STOPPED))
        await driver.launch(order("w-4", join_token=None))
        await eventually(sees(driver, "w-4", Presence.RUNNING))
        await self._has_started(driver, "w-4", 2)

    async def test_a_worker_that_hangs_is_killed_and_its_machine_stays(self, driver: D) -> None:
        await driver.launch(order("w-7"))
        await eventually(sees(driver, "w-7", Presence.RUNNING))
        await self._has_started(driver, "w-7", 1)
        await driver.kick(WorkerId("w-7"))
        await eventually(sees(driver, "w-7", Presence.STOPPED))
        await driver.kick(WorkerId("w-7"))

    async def test_a_lost_machine_is_seen_no_more_and_can_still_be_ended(self, driver: D) -> None:
        await driver.launch(order("w-5"))
        await eventually(sees(driver, "w-5", Presence.RUNNING))
        await self.lose_machine(driver, WorkerId("w-5"))
        await eventually(sees(driver, "w-5", None))
        await driver.terminate(WorkerId("w-5"))
        assert "w-5" not in await driver.observe()

    async def test_ending_what_never_was_is_no_fault(self, driver: D) -> None:
        await driver.terminate(WorkerId("w-6"))
        assert "w-6" not in await driver.observe()

    async def _has_started(self, driver: D, worker: str, times: int) -> None:
        async def started() -> bool:
            return await self.starts(driver, WorkerId(worker)) == times

        await eventually(started)
        await asyncio.sleep(0.2)
        assert await started(), "none is started beside it later"


def order(worker: str, join_token: str | None = "let-me-in") -> Order:
    return Order(WorkerId(worker), PoolName("default"), 0, 1, "cpu", join_token)


def sees(driver: Driver, worker: str, presence: Presence | None) -> Observed:
    async def claim() -> bool:
        return (await driver.observe()).get(WorkerId(worker)) is presence

    return claim
