"""Health checks: what a probe finds, what is shown of it, and for how long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from shared.errors import Transient
from shared.messages.health import CheckResult
from shared.runtime.health import STALE_S, HealthChecks, Probe
from shared.telemetry import metrics
from tests.support.virtual_time import in_virtual_time
from tests.support.waiting import eventually

BEGAN = datetime(2026, 11, 1, 12, tzinfo=UTC)


class StoppedClock:
    """Goes on only when a test says so."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        return self.passed_s


class Dependency:
    """Works, is away, or hangs."""

    def __init__(self, reason: str | Exception | None = None) -> None:
        self.reason = reason
        self.hangs = False
        self.probes = 0

    async def probe(self) -> str | None:
        self.probes += 1
        if self.hangs:
            await asyncio.Event().wait()
        if isinstance(self.reason, Exception):
            raise self.reason
        return self.reason


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def health(clock: StoppedClock) -> HealthChecks:
    made = HealthChecks("tester", clock, period_s=1.0, again_s=1.0, timeout_s=3.0)
    made.add_check("bus")
    return made


@asynccontextmanager
async def kept(health: HealthChecks, probe: Probe) -> AsyncIterator[None]:
    task = asyncio.create_task(health.keep("bus", probe))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def check_of(health: HealthChecks) -> CheckResult:
    (check,) = health.report().checks
    return check


@in_virtual_time
async def test_a_check_fails_until_it_has_run(health: HealthChecks) -> None:
    assert not health.report().ok and check_of(health).reason == "the check has not run yet"
    assert health.failing_since("bus") is None
    async with kept(health, Dependency().probe):
        await eventually(lambda: health.report().ok)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("the stream has no leader", "the stream has no leader"),
        (Transient("Postgres does not answer"), "Postgres does not answer"),
        (ValueError("unforeseen"), "ValueError: unforeseen"),
    ],
)
@in_virtual_time
async def test_a_failure_is_shown_with_its_reason_and_its_begin(
    health: HealthChecks, clock: StoppedClock, reason: str | Exception, expected: str
) -> None:
    dependency = Dependency()
    async with kept(health, dependency.probe):
        await eventually(lambda: health.report().ok)
        clock.passed_s, dependency.reason = 10.0, reason
        await eventually(lambda: not health.report().ok)
        clock.passed_s, dependency.probes = 17.0, 0
        await eventually(lambda: dependency.probes > 1)
        assert (check_of(health).reason, check_of(health).since) == (expected, BEGAN + timedelta(seconds=10))
        assert health.failing_since("bus") == BEGAN + timedelta(seconds=10)
        dependency.reason = None
        await eventually(lambda: health.report().ok)
        assert check_of(health).since == BEGAN + timedelta(seconds=17)


@in_virtual_time
async def test_a_probe_that_hangs_fails_and_does_not_pile_up(health: HealthChecks) -> None:
    dependency = Dependency()
    dependency.hangs = True
    async with kept(health, dependency.probe):
        await eventually(lambda: check_of(health).reason == "no response within 3 s")


@in_virtual_time
async def test_a_result_that_is_too_old_proves_nothing(health: HealthChecks, clock: StoppedClock) -> None:
    async with kept(health, Dependency().probe):
        await eventually(lambda: health.report().ok)
    clock.passed_s += STALE_S + 1
    assert not health.report().ok and "has not run for" in (check_of(health).reason or "")


@in_virtual_time
async def test_metrics_show_each_check(health: HealthChecks) -> None:
    dependency = Dependency()
    async with kept(health, dependency.probe):
        await eventually(lambda: health.report().ok)
        assert b'muster_health_check{check="bus",service="tester"} 1.0' in metrics.exposition("")[0]
        dependency.reason = "away"
        await eventually(lambda: not health.report().ok)
        assert b'muster_health_check{check="bus",service="tester"} 0.0' in metrics.exposition("")[0]
