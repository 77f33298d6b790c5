"""The expected starts of a page of the queue are those that each of its trials is explained with."""

import asyncio
from datetime import datetime, timedelta

import pytest

from services.scheduler.core.explaining.wait_reasons import binding_of
from services.scheduler.queries import forecasting
from services.scheduler.queries.forecasting import forecast_start, with_starts
from services.scheduler.queries.listing import page_of
from shared.messages.queue import GetQueue, QueuePage
from tests.unit.scheduler.test_forecast import served
from tests.unit.scheduler.test_listing import term_of
from tests.unit.scheduler.world import World, tenant_id


class _Clock:
    """Stands, but for `step_s` with each look at it."""

    def __init__(self, world: World, step_s: float = 0.0) -> None:
        self._now, self._step_s, self._monotonic = world.now, step_s, 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        self._monotonic += self._step_s
        return self._monotonic


def busy() -> World:
    world = served()
    for number in range(1, 7):
        world.want(number)
    world.cycle()
    return world


def shown(world: World, step_s: float = 0.0) -> QueuePage:
    page = page_of(term_of(world), tenant_id(0), GetQueue())
    return asyncio.run(with_starts(term_of(world), page, _Clock(world, step_s)))


def test_each_that_waits_starts_when_it_would_be_told_alone_and_in_the_order_of_the_queue() -> None:
    world = busy()
    running, *waiting = shown(world).entries
    assert running.state == "running" and running.expected_start is None
    alone = []
    for entry in waiting:
        trial = world.cluster.trials[entry.trial_id]
        alone.append(forecast_start(world.cluster, trial, binding_of(world.cluster, trial, None), world.now))
    assert [entry.expected_start for entry in waiting] == alone
    assert all(start is not None for start in alone)
    ends = [start.expected for start in alone if start]
    assert ends[0] < ends[-1] and all(end > world.now - timedelta(seconds=1) for end in ends)


def test_no_more_are_reckoned_than_there_is_time_or_need_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = busy()
    told = [entry.expected_start is not None for entry in shown(world, step_s=0.11).entries]
    assert told == [False, True, True, False, False, False]
    monkeypatch.setattr(forecasting, "MOST", 1)
    assert [entry.expected_start is not None for entry in shown(world).entries].count(True) == 1
