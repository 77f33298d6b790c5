"""Whether what a process stores waits for the bus: by its relay, which knows at once, and by its check, which knows at rest."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.bus.health import UNSENT_S, BusOutage
from shared.bus.relay import Relay
from shared.bus.units import OutboxRow
from shared.ids import SITE, new_id
from shared.runtime.health import HealthChecks

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


class StoppedClock:
    """Goes on only when a test says so."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        return self.passed_s


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def relay(clock: StoppedClock) -> Relay:
    return Relay(cast(Any, SimpleNamespace(on_reconnect=[])), cast(Any, None), "gateway", clock)


def row(clock: StoppedClock) -> OutboxRow:
    return OutboxRow(new_id(clock), SITE, "cmd.v1.searcher.pause_experiment", {}, b"{}")


def outage(relay: Relay, clock: StoppedClock, failing_since: datetime | None = None) -> BusOutage:
    health = SimpleNamespace(failing_since=lambda _: failing_since)
    return BusOutage(cast(HealthChecks, health), relay, clock)


def test_nothing_waits_where_nothing_was_sent(relay: Relay, clock: StoppedClock) -> None:
    assert outage(relay, clock).since() is None


def test_a_message_that_is_not_acknowledged_waits_since_it_was_sent(
    relay: Relay, clock: StoppedClock
) -> None:
    clock.passed_s = 10.0
    relay.hand_over([row(clock)])
    clock.passed_s += UNSENT_S / 2
    assert outage(relay, clock).since() is None
    relay.hand_over([row(clock)])
    clock.passed_s += UNSENT_S
    assert outage(relay, clock).since() == NOW + timedelta(seconds=10)


def test_the_check_tells_where_nothing_was_sent(relay: Relay, clock: StoppedClock) -> None:
    assert outage(relay, clock, failing_since=NOW).since() == NOW


def test_the_earlier_of_both_is_told(relay: Relay, clock: StoppedClock) -> None:
    relay.hand_over([row(clock)])
    clock.passed_s = 60.0
    assert outage(relay, clock, failing_since=NOW + timedelta(seconds=7)).since() == NOW
    assert outage(relay, clock, failing_since=NOW - timedelta(seconds=7)).since() == NOW - timedelta(
        seconds=7
    )
