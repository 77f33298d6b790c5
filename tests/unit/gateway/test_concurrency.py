"""Concurrency limits: a hot tenant keeps no other waiting, queues are bounded, and nobody who leaves a queue takes a place with it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import Transient
from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.audit.records import CallOrigin
from services.gateway.platform.auth.authentication import CallerCredentials
from services.gateway.platform.dispatch import Dispatcher
from services.gateway.platform.events.stream_limits import OpenStreams
from services.gateway.platform.limits.concurrency import Bounds, ConcurrencyLimits, Occupied, PerSender
from services.gateway.platform.limits.exceeded import LimitExceeded
from services.gateway.platform.operation import Operation
from shared.errors import meaning_of
from shared.ids import TenantId
from shared.telemetry import metrics

HOT, CALM = (TenantId(UUID(int=number)) for number in (1, 2))
REPLICA, TENANT, LONG, UPLOADS, QUEUED = 6, 4, 2, 1, 3
LONG_S = 60.0


def make_limits(timeout_s: float = LONG_S) -> ConcurrencyLimits:
    return ConcurrencyLimits(
        replica=Bounds(REPLICA, QUEUED, timeout_s),
        working=Bounds(TENANT, QUEUED, timeout_s),
        waiting=Bounds(LONG, QUEUED, timeout_s),
        upload=Bounds(UPLOADS, QUEUED, timeout_s),
    )


@dataclass
class Load:
    """Requests that go on until they are told to end."""

    limits: ConcurrencyLimits
    active: list[TenantId] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    finishing: list[tuple[TenantId, asyncio.Event]] = field(default_factory=list)

    async def begin(
        self, tenant: TenantId, count: int = 1, occupied: Occupied = "working"
    ) -> list[asyncio.Task[None]]:
        started = [asyncio.create_task(self._request(tenant, occupied)) for _ in range(count)]
        self.tasks += started
        await settled()
        return started

    async def end(self, tenant: TenantId, count: int = 1) -> None:
        for _, end in [one for one in self.finishing if one[0] == tenant][:count]:
            end.set()
        await settled()

    async def _request(self, tenant: TenantId, occupied: Occupied) -> None:
        async with self.limits.hold(tenant, occupied):
            end = asyncio.Event()
            self.finishing.append((tenant, end))
            self.active.append(tenant)
            try:
                await end.wait()
            finally:
                self.active.remove(tenant)
                self.finishing = [one for one in self.finishing if one[1] is not end]

    def count(self, tenant: TenantId) -> int:
        return self.active.count(tenant)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
async def load() -> AsyncIterator[Load]:
    made = Load(make_limits())
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def test_a_hot_tenant_keeps_no_other_waiting(load: Load) -> None:
    await load.begin(HOT, TENANT + QUEUED)
    await load.begin(CALM, REPLICA - TENANT)
    assert (load.count(HOT), load.count(CALM)) == (TENANT, REPLICA - TENANT)


async def test_requests_that_wait_and_uploads_leave_the_places_of_others(load: Load) -> None:
    await load.begin(HOT, UPLOADS + QUEUED, "upload")
    assert load.count(HOT) == UPLOADS
    await load.begin(HOT, LONG + QUEUED, "waiting")
    assert load.count(HOT) == UPLOADS + LONG
    await load.begin(HOT, TENANT)
    assert load.count(HOT) == UPLOADS + LONG + TENANT


async def test_requests_of_a_tenant_are_served_in_their_order() -> None:
    limits, served = make_limits(), list[int]()

    async def serve(number: int) -> None:
        async with limits.hold(HOT, "working"):
            served.append(number)
            await settled()

    async with asyncio.TaskGroup() as group:
        for number in range(TENANT + QUEUED):
            group.create_task(serve(number))
    assert served == list(range(TENANT + QUEUED))


async def test_a_request_beyond_the_tenants_queue_is_a_429(load: Load) -> None:
    await load.begin(HOT, TENANT + QUEUED)
    (beyond,) = await load.begin(HOT)
    error = cast(LimitExceeded, beyond.exception())
    assert (error.limit, error.code) == ("tenant_concurrency", "rate_limited")
    assert meaning_of(error).http == 429 and error.retry_after_s > 0
    await load.end(HOT)
    (queued,) = await load.begin(HOT)
    assert not queued.done()


async def test_a_request_beyond_the_replicas_queue_is_a_503(load: Load) -> None:
    tenants = [TenantId(UUID(int=100 + number)) for number in range(REPLICA + QUEUED)]
    for tenant in tenants:
        await load.begin(tenant)
    (beyond,) = await load.begin(CALM)
    error = cast(LimitExceeded, beyond.exception())
    assert (error.limit, error.code) == ("replica_concurrency", "overloaded")
    assert meaning_of(error).http == 503 and error.retry_after_s > 0
    for tenant in tenants:
        await load.end(tenant)
    assert not load.active
    await load.begin(CALM, TENANT)
    assert load.count(CALM) == TENANT, "whoever was refused by the replica occupies no place of its tenant"


async def test_a_request_that_waits_for_too_long_is_refused_and_leaves_the_queue() -> None:
    load = Load(make_limits(timeout_s=0.0))
    await load.begin(HOT, TENANT)
    for _ in range(2 * QUEUED):
        (late,) = await load.begin(HOT)
        with pytest.raises(LimitExceeded, match="queued for 0 s"):
            await late
    await load.end(HOT, TENANT)
    await load.begin(HOT, TENANT)
    assert load.count(HOT) == TENANT
    await load.end(HOT, TENANT)


@pytest.mark.parametrize("steps", range(5))
async def test_a_cancelled_request_leaves_its_place_to_the_next(load: Load, steps: int) -> None:
    """Also if it is cancelled in the moment in which it is admitted."""
    await load.begin(HOT, TENANT)
    first, second = await load.begin(HOT, 2)
    load.finishing[0][1].set()
    for _ in range(steps):
        await asyncio.sleep(0)
    first.cancel()
    await settled()
    assert load.count(HOT) == TENANT and not second.done()
    await load.end(HOT, TENANT)
    await load.begin(HOT, TENANT + QUEUED)
    assert load.count(HOT) == TENANT and not any(task.done() for task in load.tasks[-QUEUED:])


async def test_a_tenants_limit_goes_with_its_last_request() -> None:
    made = list[asyncio.Event]()
    limits = PerSender(asyncio.Event)
    one = limits.of(HOT)
    assert limits.of(HOT) is one and limits.of(CALM) is not one
    one.set()
    made.append(one)
    del one, made[:]
    assert not limits.of(HOT).is_set()


class Rates:
    """Refuses all requests, or none."""

    is_open = True

    async def take(self, *_: object) -> None:
        if not self.is_open:
            raise LimitExceeded("rate", "too fast", 1.0)


def make_dispatcher(rates: Rates) -> Dispatcher:
    nothing = cast(Any, None)
    return Dispatcher(nothing, nothing, cast(Any, rates), nothing, make_limits(), 1, 1, OpenStreams(1))


def row_of(name: str) -> Operation[Any, Any]:
    return next(row for row in OPERATIONS if row.name == name)


async def test_an_admitted_request_holds_its_place_until_it_is_answered() -> None:
    dispatcher, row, end = make_dispatcher(Rates()), row_of("SignIn"), asyncio.Event()

    async def ask() -> None:
        async with dispatcher.admit(row, CallerCredentials(None)):
            await end.wait()

    asking = [asyncio.create_task(ask()) for _ in range(TENANT + QUEUED)]
    await settled()
    with pytest.raises(LimitExceeded):
        async with dispatcher.admit(row, CallerCredentials(None)):
            raise AssertionError("it was admitted")
    # Strangers keep neither others from signing in nor probes from an answer.
    async with dispatcher.admit(row, CallerCredentials(None), CallOrigin("rest", "10.0.0.2")):
        pass
    async with dispatcher.admit(row_of("GetHealth"), CallerCredentials(None)):
        pass
    end.set()
    await asyncio.gather(*asking)


async def test_a_request_over_its_rate_occupies_no_place_and_is_counted() -> None:
    rates = Rates()
    dispatcher, row = make_dispatcher(rates), row_of("JoinWorker")
    rates.is_open = False
    for _ in range(TENANT + QUEUED + 1):
        with pytest.raises(Transient, match="too fast"):
            async with dispatcher.admit(row, CallerCredentials(None)):
                raise AssertionError("it was admitted")
    rates.is_open = True
    async with dispatcher.admit(row, CallerCredentials(None)):
        pass
    exposition = metrics.exposition("")[0].decode()
    assert (
        f'muster_gateway_rejections_total{{class="join",reason="rate"}} {TENANT + QUEUED + 1:.1f}'
        in exposition
    )
    assert 'muster_gateway_requests_total{class="join",outcome="transient"}' in exposition
    assert 'muster_gateway_requests_total{class="join",outcome="ok"} 1.0' in exposition
    assert 'muster_gateway_active_requests{class="join"} 0.0' in exposition


@pytest.mark.parametrize(
    ("name", "occupied"),
    [
        ("ListExperiments", "working"),
        ("SearchLogs", "waiting"),
        ("GetTrialMetrics", "waiting"),
        ("JoinWorker", "waiting"),
        ("KillExperiment", "waiting"),
        ("PutCode", "upload"),
        ("GetHealth", None),
    ],
)
def test_requests_that_ask_another_service_are_told_from_those_that_do_not(
    name: str, occupied: Occupied | None
) -> None:
    assert row_of(name).occupies == occupied
