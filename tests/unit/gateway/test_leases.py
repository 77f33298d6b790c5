"""Tokens drawn ahead: replicas together spend no more than the bucket holds, ask seldom, and ask nobody while it is empty."""

import asyncio
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from services.gateway.core.buckets import LEASE_S, LONGEST_S, Lease, Rate
from services.gateway.limits.rates import Limiter
from services.gateway.operations.operation import RateClass
from shared.clock import SystemClock
from shared.ids import TenantId

STEPS = st.lists(st.tuples(st.integers(0, 2), st.floats(0.0, 0.4)), min_size=1, max_size=300)


@dataclass
class Shared:
    """The bucket that all draw from, as Redis keeps it, and the replicas' leases."""

    rate: Rate
    replicas: int = 1
    now_s: float = 100.0
    asked: int = 0
    leases: list[Lease] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tokens, self._at_s = self.rate.burst, self.now_s
        self.leases = [Lease(self.rate) for _ in range(self.replicas)]

    def request(self, replica: int = 0) -> float:
        """What a request at a replica is told: 0, or the seconds to wait."""
        lease = self.leases[replica]
        while (wait_s := lease.take(self.now_s)) is None:
            self._draw(lease)
        return wait_s

    def refuse(self) -> float:
        """When a request is told to come again that finds no token."""
        wait_s = self.request()
        assert wait_s > 0.0
        return self.now_s + self.leases[0].promise(wait_s, self.now_s)

    def _draw(self, lease: Lease) -> None:
        self.asked += 1
        flown = (self.now_s - self._at_s) * self.rate.per_s
        self._tokens, self._at_s = min(self.rate.burst, self._tokens + flown), self.now_s
        given = min(lease.wanted(self.now_s), math.floor(self._tokens))
        self._tokens -= given
        wait_s = 0.0 if given else (1.0 - self._tokens) / self.rate.per_s
        lease.draw(given, self._tokens, wait_s, self.now_s)


@given(STEPS, st.floats(0.5, 50.0), st.floats(1.0, 60.0))
def test_replicas_together_spend_what_the_bucket_holds_and_no_more(
    steps: list[tuple[int, float]], per_s: float, burst: float
) -> None:
    shared = Shared(Rate(per_s, burst), replicas=3)
    began_s, passed = shared.now_s, 0
    for replica, pause_s in steps:
        shared.now_s += pause_s
        passed += shared.request(replica) == 0.0
        assert 0.0 <= shared.leases[replica].left(shared.now_s) <= burst
    assert passed >= min(len(steps), 1)
    assert passed <= burst + per_s * (shared.now_s - began_s) + 1e-6


def test_who_asks_fifteen_hundred_times_a_second_costs_a_few_draws() -> None:
    shared = Shared(Rate(5000.0, 10_000.0))
    for _ in range(1500):
        shared.now_s += 1 / 1500
        assert shared.request() == 0.0
    assert shared.asked <= 25


def test_who_asks_too_often_is_told_to_wait_without_asking() -> None:
    shared = Shared(Rate(10.0, 20.0))
    told = []
    for _ in range(2000):
        shared.now_s += 1 / 1000
        told.append(shared.request())
    assert told.count(0.0) == 39, "twenty at once, and what flows in two seconds"
    assert shared.asked <= 2 * 39 and max(told) <= 0.1
    shared.now_s += max(told)
    assert shared.request() == 0.0


def test_what_lies_ahead_and_is_not_spent_is_let_go() -> None:
    """The first replica drew ahead and stopped: a second later the bucket is the other's alone."""
    shared = Shared(Rate(100.0, 200.0), replicas=2)
    for _ in range(100):
        shared.now_s += 1 / 100
        shared.request(0)
    before = shared.asked
    shared.now_s += LEASE_S
    shared.request(0)
    assert shared.asked == before + 1, "it was drawn anew"
    shared.now_s += 10.0
    assert sum(shared.request(1) == 0.0 for _ in range(300)) == 200


def test_those_who_wait_are_drawn_for_at_once() -> None:
    lease = Lease(Rate(10.0, 20.0))
    lease.waiting = 7
    assert lease.wanted(5.0) == 7


@given(st.floats(1.0, 100.0), st.lists(st.floats(0.0, 0.05), min_size=1, max_size=9))
def test_who_comes_when_told_is_served(per_s: float, pauses_s: list[float]) -> None:
    shared = Shared(Rate(per_s, 2.0))
    assert shared.request() == shared.request() == 0.0
    due_s: list[float] = []
    for pause_s in pauses_s:
        due_s.append(shared.refuse())
        shared.now_s += pause_s / per_s
    assert [due - before for before, due in pairwise(due_s)] == pytest.approx([1 / per_s] * (len(due_s) - 1))
    for due in due_s:
        shared.now_s = due + 1e-3
        assert shared.request() == 0.0


def test_what_was_promised_to_those_who_did_not_come_keeps_nobody_waiting() -> None:
    shared = Shared(Rate(5.0, 1.0))
    shared.request()
    for _ in range(10):
        shared.refuse()
    shared.now_s += 2.5
    assert shared.request() == 0.0
    assert shared.refuse() == pytest.approx(shared.now_s + 0.2)


def test_nobody_waits_for_others_longer_than_is_bearable() -> None:
    shared = Shared(Rate(1.0, 1.0))
    shared.request()
    assert max(shared.refuse() for _ in range(1000)) == pytest.approx(shared.now_s + LONGEST_S)
    slow = Shared(Rate(0.05, 1.0))
    slow.request()
    assert slow.refuse() == pytest.approx(slow.now_s + 20.0), "sooner there is nothing"


class Stingy:
    """Gives one token each time, at once."""

    asked = 0

    def register_script(self, text: str) -> Any:
        async def give(**given: Any) -> tuple[int, int, bytes]:
            self.asked += 1
            return 0, 1, b"9"

        return give


class Impatient(SystemClock):
    """Ends whoever looks at it without an end."""

    looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        assert self.looks < 1000
        return super().monotonic()


async def test_who_comes_as_the_drawing_ends_draws_anew() -> None:
    redis = Stingy()
    limiter = Limiter(cast(Any, redis), {RateClass.READ: Rate(1.0, 9.0)}, Impatient())

    def take() -> asyncio.Task[None]:
        return asyncio.create_task(limiter.take(TenantId(UUID(int=1)), RateClass.READ))

    asking = [take()]
    await asyncio.sleep(0)
    asking += [take() for _ in range(4)]
    await asyncio.gather(*asking)
    assert redis.asked == 5, "as many as there were requests: nobody goes without, and nobody has two"
