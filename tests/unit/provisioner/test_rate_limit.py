"""The pace of calls: a burst, then a steady rate, and patience with those that are throttled all the same."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from services.provisioner.drivers.rate_limit import RateLimiter, Throttled


class Time:
    """Stands still but for those who sleep."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    found = Time()
    monkeypatch.setattr("asyncio.sleep", found.sleep)
    return found


async def test_a_burst_at_once_and_then_so_many_a_second(time: Time) -> None:
    calls = RateLimiter(2.0, 5, timedelta(seconds=30), time, Random(1))
    made: list[float] = []

    async def call() -> None:
        made.append(time.at)

    for _ in range(9):
        await calls.call(call)
    assert made == [0.0] * 5 + [0.5, 1.0, 1.5, 2.0]
    time.at += 100
    for _ in range(6):
        await calls.call(call)
    assert [at - 102.0 for at in made[9:]] == [0.0] * 5 + [0.5], "no more is saved up than the burst"


async def test_who_is_throttled_is_patient_and_then_says_so(time: Time) -> None:
    calls = RateLimiter(2.0, 5, timedelta(seconds=30), time, Random(1))
    answers = [Throttled("slower"), Throttled("slower")]

    async def call() -> str:
        if answers:
            raise answers.pop()
        return "done"

    assert await calls.call(call) == "done"
    answers = [Throttled("slower")] * 100
    began = time.at
    with pytest.raises(Throttled):
        await calls.call(call)
    assert 20 < time.at - began < 35
