"""A program drives a search of the real searcher: told over the bus, killed on both sides, and away for too long."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from shared.errors import Conflict, Rejected, Transient
from shared.ids import ExperimentId
from shared.messages.custom_searches import (
    DrivenSearch,
    GetDrivenSearch,
    GetSearchEvents,
    SearchEvent,
    SearchEventPage,
    SearchOperation,
    SubmitSearchOperations,
)
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.searcher.searches import agree_with_the_rule, document
from tests.integration.searcher.training import Train
from tests.support.waiting import TIMEOUT_S, eventually

TRIALS = 6
CUSTOM = {"name": "custom", "max_concurrent_trials": 2, "driver_timeout": None}


async def ask(neighbours: Neighbours, question: Any) -> Any:
    """The answer, once there is one: the searcher may be away for a while, or not have the experiment yet."""
    async with asyncio.timeout(2 * TIMEOUT_S):
        while True:
            try:
                return await neighbours.bus.ask(question, neighbours.tenant, 2.0)
            except (Transient, Rejected) as error:
                if not isinstance(error, Transient) and error.code != "not_found":
                    raise
                await asyncio.sleep(0.05)


def create(key: str, **more: Any) -> SearchOperation:
    return SearchOperation(verb="create", key=key, **{"point": {"lr": 0.01}, "until": 1.0} | more)


async def tell(
    neighbours: Neighbours, experiment: ExperimentId, *operations: SearchOperation, upto: int | None = None
) -> DrivenSearch:
    question = SubmitSearchOperations(
        experiment_id=experiment, operations=operations, acknowledge=upto, driver="test"
    )
    found = await ask(neighbours, question)
    assert isinstance(found, DrivenSearch)
    return found


def answered(event: SearchEvent, ended: set[str], point: dict[str, Any]) -> list[SearchOperation]:
    """Two validations each, then the next trial, as long as there are any."""
    if event.kind == "validation":
        again = SearchOperation(verb="go_on", key=event.key, until=2.0)
        return [again if event.time == 1 else SearchOperation(verb="stop", key=event.key)]
    if event.kind == "ended":
        ended.add(event.key)
        following = int(event.key) + 2
        more = [create(str(following), point=point)] if following < TRIALS else []
        return more if len(ended) < TRIALS else [SearchOperation(verb="shutdown", reason="enough")]
    return []


async def drive(
    neighbours: Neighbours,
    experiment: ExperimentId,
    point: dict[str, Any] | None = None,
    repeat: bool = False,
) -> list[SearchEvent]:
    """Answers one event after the other until the search is over; what it says, it may say twice."""
    point = point or {"lr": 0.01}
    received: list[SearchEvent] = []
    ended: set[str] = set()
    await tell(neighbours, experiment, create("0", point=point), create("1", point=point))
    async with asyncio.timeout(3 * TIMEOUT_S):
        while True:
            page = await ask(neighbours, GetSearchEvents(experiment_id=experiment, limit=1, driver="test"))
            assert isinstance(page, SearchEventPage)
            for event in page.events:
                received.append(event)
                operations = answered(event, ended, point)
                for _ in range(1 + repeat):
                    await tell_late(neighbours, experiment, operations, event.number)
            if page.is_over:
                return received
            if not page.events:
                await asyncio.sleep(0.02)


async def tell_late(
    neighbours: Neighbours, experiment: ExperimentId, operations: list[SearchOperation], upto: int
) -> None:
    """What a search that is over already does not take is what it has taken before."""
    try:
        await tell(neighbours, experiment, *operations, upto=upto)
    except Conflict as error:
        if error.code != "experiment_is_completed":
            raise
        await tell(neighbours, experiment, upto=upto)


@pytest.mark.parametrize(
    "fault", ["", "unit.before_commit:12", "unit.after_commit:12", "relay.before_publish:9"]
)
async def test_a_driven_search_survives_the_searcher(
    settings: Callable[[str], dict[str, str]], neighbours: Neighbours, fault: str
) -> None:
    """The searcher is killed in the middle; each trial is made once, each event is told, in order, and a replay agrees."""
    config = document(CUSTOM)
    experiment = await neighbours.submit(config)
    train = Train(neighbours, experiment, lambda trial, step: 1 / (trial + step))
    training = asyncio.create_task(train.until_over(4 * TIMEOUT_S))
    driving = asyncio.create_task(drive(neighbours, experiment, repeat=True))
    async with searcher(settings("searcher"), fault) as first:
        if fault:
            await asyncio.wait_for(first.wait(), 2 * TIMEOUT_S)
        else:
            await asyncio.gather(training, driving)
    async with searcher(settings("searcher")):
        over, received = await asyncio.gather(training, driving)
        assert (over.state, over.reason, over.trials.stopped) == ("completed", "enough", TRIALS)
        keys = {kind: [e.key for e in received if e.kind == kind] for kind in ("created", "ended")}
        assert {kind: sorted(found) for kind, found in keys.items()} == {
            kind: list("012345") for kind in keys
        }
        assert sorted((e.key, e.time) for e in received if e.kind == "validation") == [
            (key, time) for key in "012345" for time in (1.0, 2.0)
        ]
        assert [event.number for event in received] == sorted(event.number for event in received)
        looked = await ask(neighbours, GetDrivenSearch(experiment_id=experiment))
        assert (looked.driver, looked.waiting) == ("test", 0)
        await agree_with_the_rule(neighbours, experiment, config)


async def test_all_is_carried_out_or_nothing(
    settings: Callable[[str], dict[str, str]], neighbours: Neighbours
) -> None:
    async with searcher(settings("searcher")):
        experiment = await neighbours.submit(document(CUSTOM))
        with pytest.raises(Rejected) as refused:
            await tell(neighbours, experiment, create("a"), create("b", point={"lr": 7.0}))
        assert refused.value.place == "operations[1].hyperparameters.lr"
        with pytest.raises(Rejected, match="event 99 does not exist"):
            await tell(neighbours, experiment, create("a"), upto=99)
        page = await ask(neighbours, GetSearchEvents(experiment_id=experiment))
        assert page.events == ()
        await tell(neighbours, experiment, create("a"))
        with pytest.raises(Conflict) as taken:
            await tell(neighbours, experiment, create("a", until=3.0))
        assert taken.value.code == "key_taken"
        page = await ask(neighbours, GetSearchEvents(experiment_id=experiment))
        assert [(event.kind, event.key, event.trial) for event in page.events] == [("created", "a", 1)]


async def test_a_search_whose_program_stays_away_ends_with_the_best_so_far(
    settings: Callable[[str], dict[str, str]], neighbours: Neighbours
) -> None:
    environment = settings("searcher") | {"MUSTER_SEARCHER__SETTLE_EVERY_S": "0.3"}
    async with searcher(environment):
        experiment = await neighbours.submit(document(CUSTOM | {"driver_timeout": 2}))
        train = Train(neighbours, experiment, lambda trial, step: 1.0)
        training = asyncio.create_task(train.until_over())
        await tell(neighbours, experiment, create("a"))
        over = await training
        assert (over.state, over.trials.stopped) == ("completed", 1)
        assert over.reason == "no driver program contacted the search for 2 s (searcher.driver_timeout)"


async def test_a_hint_wakes_who_waits(
    settings: Callable[[str], dict[str, str]], neighbours: Neighbours
) -> None:
    hinted: list[str] = []

    async def hear(message: Any) -> None:
        hinted.append(message.subject.rsplit(".", 1)[1])

    subscription = await neighbours.bus.subscribe(f"live.v1.{neighbours.tenant}.search.*", hear)
    await neighbours.bus.flush()
    async with searcher(settings("searcher")):
        experiment = await neighbours.submit(document(CUSTOM))
        await tell(neighbours, experiment, create("a"))
        await eventually(lambda: str(experiment) in hinted)
    await subscription.unsubscribe()
