"""Searches that a program drives, over the API: what it tells goes to the searcher, and events are waited for."""

import asyncio
from typing import Any
from uuid import UUID

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.clock import SystemClock
from shared.errors import Conflict, NotFound
from shared.ids import DEFAULT_TENANT
from shared.messages.base import Hint
from shared.messages.custom_searches import (
    DrivenSearch,
    GetDrivenSearch,
    GetSearchEvents,
    SearchEvent,
    SearchEventPage,
    SubmitSearchOperations,
)
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import create
from tests.support.waiting import TIMEOUT_S

CUSTOM = """\
entrypoint: python3 -m train
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: custom, metric: loss}
"""
CREATE = {"verb": "create", "key": "a", "hyperparameters": {"lr": 0.01}, "until": 1.0}


async def driven(api: httpx.AsyncClient) -> dict[str, Any]:
    answer = await api.post("/v1/experiments", json={"config_yaml": CUSTOM})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_what_a_program_tells_goes_to_the_searcher(api: httpx.AsyncClient, others: Others) -> None:
    made = await driven(api)
    others.say(SubmitSearchOperations, DrivenSearch(driver="me", acknowledged=3, position=9, waiting=2))
    path = f"/v1/experiments/{made['number']}/search"
    answer = await api.post(f"{path}/tell", json={"operations": [CREATE], "acknowledge": 3, "driver": "me"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["acknowledged"], answer.json()["waiting"]) == (3, 2)
    told = [query for _, query in others.asked if isinstance(query, SubmitSearchOperations)][-1]
    assert told.experiment_id == UUID(made["id"]) and told.acknowledge == 3
    assert [(each.verb, each.key, each.point, each.until) for each in told.operations] == [
        ("create", "a", {"lr": 0.01}, 1.0)
    ]


@pytest.mark.parametrize(
    ("operation", "place", "said"),
    [
        ({"verb": "create"}, "operations[0]", "needs `key`"),
        ({"verb": "stop", "key": "a", "until": 3.0}, "operations[0]", "does not accept `until`"),
        ({"verb": "progress", "share": 2}, "operations[0].share", "1"),
        ({"verb": "dance"}, "operations[0].verb", "create"),
        ({"verb": "stop", "key": ""}, "operations[0].key", "empty"),
        ({"verb": "stop", "kye": "a"}, "operations[0].kye", ""),
        ({**CREATE, "until": 0}, "operations[0].until", "0"),
    ],
)
async def test_bad_operations_are_refused_with_their_place(
    api: httpx.AsyncClient, operation: dict[str, Any], place: str, said: str
) -> None:
    made = await driven(api)
    answer = await api.post(f"/v1/experiments/{made['id']}/search/tell", json={"operations": [operation]})
    problem = answer.json()
    assert answer.status_code == 400 and problem["place"] == place and said in problem["detail"], problem


async def test_the_searchers_refusal_is_told(api: httpx.AsyncClient, others: Others) -> None:
    made = await driven(api)
    others.say(
        SubmitSearchOperations,
        Conflict("key_taken", "the key 'a' already belongs to another trial", "operations[0].key"),
    )
    answer = await api.post(f"/v1/experiments/{made['id']}/search/tell", json={"operations": [CREATE]})
    assert (answer.status_code, answer.json()["code"]) == (409, "key_taken")


async def test_a_search_that_decides_by_itself_is_not_driven(api: httpx.AsyncClient) -> None:
    made = await create(api)
    for verb, path in (("GET", ""), ("GET", "/events"), ("POST", "/tell")):
        answer = await api.request(verb, f"/v1/experiments/{made['id']}/search{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "not_driven")


async def test_an_experiment_not_taken_up_yet_is_to_be_asked_again(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await driven(api)
    others.say(GetDrivenSearch, NotFound("experiment"))
    answer = await api.get(f"/v1/experiments/{made['id']}/search")
    assert (answer.status_code, answer.json()["code"]) == (503, "still_working")


async def test_events_are_waited_for_and_come_at_once(api: httpx.AsyncClient, others: Others) -> None:
    made = await driven(api)
    happened: list[SearchEvent] = []
    asked: list[GetSearchEvents] = []

    def page(_: Any, query: GetSearchEvents) -> SearchEventPage:
        asked.append(query)
        found = tuple(event for event in happened if event.number > (query.after or 0))
        return SearchEventPage(events=found, scanned=7 if found else 4, acknowledged=0, is_over=False)

    others.say(GetSearchEvents, page)
    path = f"/v1/experiments/{made['id']}/search/events"
    assert (await api.get(path)).json()["items"] == []
    waiting = asyncio.create_task(api.get(path, params={"wait": 20, "driver": "me"}))
    while len(asked) < 2:
        await asyncio.sleep(0.01)
    values = {"number": 7, "kind": "validation", "key": "a", "trial": 1, "time": 1.0, "value": 0.5}
    happened.append(SearchEvent.model_validate(values | {"at": SystemClock().now()}))
    hint = Hint(entity="search", id=UUID(made["id"]), cursor=7)
    await others.buses["searcher"].hint(hint, DEFAULT_TENANT)
    answer = (await waiting).json()
    assert [(event["number"], event["at"], event["value"]) for event in answer["items"]] == [(7, 1.0, 0.5)]
    assert answer["after"] == 7 and asked[-1].after == 4 and asked[-1].driver == "me"


async def test_a_program_may_drive_by_grpc(gateway: Gateway, api: httpx.AsyncClient, others: Others) -> None:
    made = await driven(api)
    others.say(SubmitSearchOperations, DrivenSearch(driver="me", acknowledged=3, position=9))
    request = muster_pb2.TellSearchRequest(
        experiment=str(made["number"]),
        operations=[
            muster_pb2.SearchOperation(
                verb=muster_pb2.SEARCH_VERB_CREATE, key="a", hyperparameters={"lr": 0.01, "width": 8}, until=1
            ),
            muster_pb2.SearchOperation(verb=muster_pb2.SEARCH_VERB_GO_ON, key="a"),
        ],
        acknowledge=3,
    )
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        bearer = (("authorization", f"Bearer {gateway.admin_token}"),)
        answer = await stub.TellSearch(request, metadata=bearer, timeout=TIMEOUT_S)
    assert (answer.experiment_number, answer.acknowledged) == (made["number"], 3)
    told = [query for _, query in others.asked if isinstance(query, SubmitSearchOperations)][-1].operations
    assert [(each.verb, each.key, each.until) for each in told] == [
        ("create", "a", 1.0),
        ("go_on", "a", None),
    ]
    assert told[0].point == {"lr": 0.01, "width": 8} and isinstance(told[0].point["width"], int)
