"""An experiment that many poll is read once, until a change of its tenant is told, a second has passed, or another caller's rights differ."""

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import NotFound
from services.gateway.experiments.operations import read as experiments
from services.gateway.experiments.schema import ExperimentDetail, ExperimentRequest
from services.gateway.platform.call_context import Call
from services.gateway.platform.events.feed import Feed, View
from services.gateway.service import resource_cache
from shared.clock import SystemClock
from shared.ids import TenantId
from shared.messages.base import Hint

TENANT, OTHER_TENANT = TenantId(UUID(int=1)), TenantId(UUID(int=2))


class Bus:
    async def hint(self, hint: object, tenant: object) -> None:
        """There is no other replica."""


class StoppedClock(SystemClock):
    """Stands still until it is moved."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Gateway:
    """A gateway's reads of one experiment. Each read finds the next version; it waits while `gate` is shut."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.clock, self.feed = StoppedClock(), Feed(cast(Any, Bus()))
        self.dependencies = SimpleNamespace(feed=self.feed, cache=resource_cache(self.clock))
        self.reads = 0
        self.gate = asyncio.Event()
        self.gate.set()
        patch.setattr(experiments, "find_experiment", self._find)
        patch.setattr(experiments, "render_experiment_detail", lambda version: _detail(version))

    async def _find(self, call: object, reference: str) -> int:
        self.reads += 1
        found = self.reads
        await self.gate.wait()
        if reference == "404":
            raise NotFound("experiment 404")
        return found

    async def get(self, reference: str = "31", within: frozenset[tuple[str, str]] = frozenset()) -> int:
        """The version of the experiment that is shown."""
        view: View = (TENANT, within)
        call = SimpleNamespace(
            operation="GetExperiment", view=view, tenant=TENANT, dependencies=self.dependencies
        )
        call.cached = partial(Call.cached, cast(Any, call))
        request = ExperimentRequest(experiment=reference)
        return (await experiments.get_experiment(cast(Any, call), request)).version


def _detail(version: int) -> ExperimentDetail:
    fields: dict[str, Any] = {"version": version, "best": None}
    return ExperimentDetail.model_construct(**fields)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return Gateway(monkeypatch)


async def test_it_is_read_again_after_a_change_of_the_tenant_and_after_a_second(gateway: Gateway) -> None:
    assert [await gateway.get(), await gateway.get()] == [1, 1]
    await gateway.feed.changed(TENANT, 7)
    assert [await gateway.get(), await gateway.get()] == [2, 2]
    await gateway.feed.changed(OTHER_TENANT, 7)
    assert await gateway.get() == 2
    gateway.feed.invalidate(TENANT)
    assert [await gateway.get(), await gateway.get()] == [3, 3]
    gateway.clock.now_s += 1.0
    assert await gateway.get() == 4


async def test_a_change_that_another_replica_tells_is_seen(gateway: Gateway) -> None:
    assert await gateway.get() == 1
    told = Hint(entity="feed", id=TENANT, cursor=1, about=(UUID(int=31),)).to_bytes()
    await gateway.feed._on_hint(cast(Any, SimpleNamespace(data=told)))
    assert await gateway.get() == 2


async def test_each_view_of_the_tenant_has_its_own(gateway: Gateway) -> None:
    assert await gateway.get() == 1
    assert await gateway.get(within=frozenset({("experiments", "a1")})) == 2
    assert await gateway.get() == 1


async def test_what_is_not_found_is_looked_for_each_time(gateway: Gateway) -> None:
    for _ in range(2):
        with pytest.raises(NotFound):
            await gateway.get("404")
    assert gateway.reads == 2


async def test_a_caller_after_a_change_never_sees_what_was_read_before_it(gateway: Gateway) -> None:
    gateway.gate.clear()
    before = [asyncio.create_task(gateway.get()) for _ in range(3)]
    await asyncio.sleep(0)
    await gateway.feed.changed(TENANT, 7)
    after = asyncio.create_task(gateway.get())
    await asyncio.sleep(0)
    gateway.gate.set()
    assert await asyncio.gather(*before, after) == [1, 1, 1, 2]
    assert await gateway.get() == 2
