"""What every driver of machines must do: one suite, run on each adapter. Its workers run until they are told to end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Generic, TypeVar

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.instance import INSTANCE, Instance, IntentId, worker_of
from services.provisioner.core.instances.launches import Intent, Presence, instance_id_at
from services.provisioner.drivers.driver import MachineDriver, MachineRef
from shared.clock import SystemClock
from shared.ids import PoolName, WorkerId, new_id
from tests.support.waiting import TIMEOUT_S, eventually

D = TypeVar("D", bound=MachineDriver)
Observed = Callable[[], Awaitable[bool]]
ONE_CORE = Offer(MachineKind("cores", "local", 1, "cpu"))
_CLOCK = SystemClock()


class MachineDriverContract(Generic[D]):
    """Subclasses give `driver`, a second one of the same machines, an offer of theirs, and a way to lose a machine."""

    offer = ONE_CORE

    @pytest.fixture
    def driver(self) -> D:
        raise NotImplementedError

    def again(self, driver: D) -> D:
        """A driver of the same machines, as after a restart of the provisioner."""
        raise NotImplementedError

    async def lose_machine(self, driver: D, worker: WorkerId) -> None:
        """The machine is gone, with all that was on it."""
        raise NotImplementedError

    async def count(self, driver: D, intent: Intent) -> int:
        """How many machines were ever made for it, by what the provider knows."""
        raise NotImplementedError

    async def test_a_machine_from_order_to_end(self, driver: D) -> None:
        intent = an_intent(self.offer)
        worker = intent.instances[0].worker
        launched = await driver.launch(intent, tokens(intent))
        assert launched.refused is None
        await eventually(sees(driver, worker, Presence.RUNNING))
        seen = (await driver.observe())[worker]
        assert seen.external_id == launched.placed[worker]
        assert (await driver.observe([intent.id]))[worker].external_id == seen.external_id
        assert not seen.extras
        await driver.terminate([MachineRef(worker, seen.external_id)])
        await eventually(sees(driver, worker, None))

    async def test_machines_of_one_intent_are_told_apart(self, driver: D) -> None:
        intent = an_intent(self.offer, 3)
        launched = await driver.launch(intent, tokens(intent))
        workers = {one.worker for one in intent.instances}
        assert launched.placed.keys() == workers
        assert len(set(launched.placed.values())) == 3
        for worker in workers:
            await eventually(sees(driver, worker, Presence.RUNNING))
        kept, *others = sorted(workers)
        await driver.terminate([MachineRef(worker, launched.placed[worker]) for worker in others])
        for worker in others:
            await eventually(sees(driver, worker, None))
        await eventually(sees(driver, kept, Presence.RUNNING))

    async def test_an_intent_that_is_repeated_makes_its_machines_once(self, driver: D) -> None:
        intent = an_intent(self.offer, 2)
        first = await driver.launch(intent, tokens(intent))
        at_once = await asyncio.gather(*(driver.launch(intent, tokens(intent)) for _ in range(3)))
        later = await asyncio.gather(
            *(self.again(driver).launch(intent, tokens(intent, "anew")) for _ in range(3))
        )
        assert all(launched == first for launched in (*at_once, *later))
        assert await self.count(driver, intent) == 2

    async def test_machines_outlive_the_driver_and_are_found_by_the_next(self, driver: D) -> None:
        intent = an_intent(self.offer)
        worker = intent.instances[0].worker
        await driver.launch(intent, tokens(intent))
        second = self.again(driver)
        await eventually(sees(second, worker, Presence.RUNNING))
        await second.terminate([MachineRef(worker)])
        await eventually(sees(driver, worker, None))

    async def test_a_lost_machine_is_seen_no_more_and_can_still_be_ended(self, driver: D) -> None:
        intent = an_intent(self.offer)
        worker = intent.instances[0].worker
        launched = await driver.launch(intent, tokens(intent))
        await eventually(sees(driver, worker, Presence.RUNNING))
        await self.lose_machine(driver, worker)
        await eventually(sees(driver, worker, None))
        await driver.terminate([MachineRef(worker, launched.placed[worker])])
        assert await sees(driver, worker, None)()

    async def test_ending_what_never_was_is_no_fault(self, driver: D) -> None:
        worker = an_intent(self.offer).instances[0].worker
        await driver.terminate([MachineRef(worker)])
        assert await sees(driver, worker, None)()


class WorkerDriverContract(MachineDriverContract[D]):
    """Of a driver that sees the workers' processes too. Subclasses also give ways to break and to count them."""

    async def kill_worker(self, driver: D, worker: WorkerId) -> None:
        """Its process dies; the machine stays."""
        raise NotImplementedError

    async def starts(self, driver: D, worker: WorkerId) -> int:
        """How often its worker was started."""
        raise NotImplementedError

    async def count(self, driver: D, intent: Intent) -> int:
        """Each machine starts its worker, and here none does so again."""
        await asyncio.sleep(0.2)
        return sum([await self.starts(driver, one.worker) for one in intent.instances])

    async def test_a_worker_that_runs_is_not_started_beside_itself(self, driver: D) -> None:
        intent = an_intent(self.offer)
        one = intent.instances[0]
        await driver.launch(intent, tokens(intent))
        await self._has_started(driver, one.worker, 1)
        await asyncio.gather(*(self.again(driver).start_again(one, None) for _ in range(4)))
        await self._has_started(driver, one.worker, 1)

    async def test_a_dead_worker_is_told_at_once_and_starts_again_on_its_machine(self, driver: D) -> None:
        told = asyncio.Event()
        driver.watch(told.set)
        intent = an_intent(self.offer)
        one = intent.instances[0]
        await driver.launch(intent, tokens(intent))
        await eventually(sees(driver, one.worker, Presence.RUNNING))
        await self._has_started(driver, one.worker, 1)
        await self.kill_worker(driver, one.worker)
        await asyncio.wait_for(told.wait(), TIMEOUT_S)
        await eventually(sees(driver, one.worker, Presence.STOPPED))
        await driver.start_again(one, None)
        await eventually(sees(driver, one.worker, Presence.RUNNING))
        await self._has_started(driver, one.worker, 2)

    async def test_a_worker_that_hangs_is_killed_and_its_machine_stays(self, driver: D) -> None:
        intent = an_intent(self.offer)
        worker = intent.instances[0].worker
        await driver.launch(intent, tokens(intent))
        await eventually(sees(driver, worker, Presence.RUNNING))
        await self._has_started(driver, worker, 1)
        await driver.kick(worker)
        await eventually(sees(driver, worker, Presence.STOPPED))
        await driver.kick(worker)

    async def _has_started(self, driver: D, worker: WorkerId, times: int) -> None:
        async def started() -> bool:
            return await self.starts(driver, worker) == times

        await eventually(started)
        await asyncio.sleep(0.2)
        assert await started(), "none is started beside it later"


def an_intent(offer: Offer = ONE_CORE, machines: int = 1) -> Intent:
    """One that was never launched."""
    name = IntentId(new_id(_CLOCK))
    return Intent(name, PoolName("default"), offer, tuple(_member(name, offer, i) for i in range(machines)))


def tokens(intent: Intent, word: str = "let-me-in") -> Mapping[WorkerId, str]:
    """One for each worker."""
    return {one.worker: word for one in intent.instances}


def sees(driver: MachineDriver, worker: WorkerId, presence: Presence | None) -> Observed:
    """None: it is not there, or its provider says that it has ended."""

    async def claim() -> bool:
        seen = (await driver.observe()).get(worker)
        found = seen.presence if seen is not None and seen.presence is not Presence.ENDED else None
        return found is presence

    return claim


def _member(intent: IntentId, offer: Offer, index: int) -> Instance:
    name = instance_id_at(intent, index)
    return Instance(
        id=name,
        pool=PoolName("default"),
        worker=worker_of(name),
        driver=offer.kind.provider,
        pool_index=index,
        slots=offer.kind.slots,
        kind=offer.kind.slot_kind,
        price_per_hour=offer.price_per_hour or 0.0,
        state=INSTANCE.initial,
        since=datetime(2026, 1, 1, tzinfo=UTC),
    )
