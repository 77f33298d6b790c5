"""An experiment's part in the queue over the API: changed, shown as it now is, refused in the scheduler's words."""

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import OperationRefused
from shared.messages.queue import EditExperiment, RequestRanked
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.test_experiments import changed, create, next_command
from tests.support.waiting import eventually


def ranked(experiment: dict[str, Any], version: int, **more: Any) -> RequestRanked:
    values = {"experiment_id": experiment["id"], "version": version, "priority": 42, "weight": 1.0}
    return RequestRanked.model_validate(values | more)


async def queued(api: httpx.AsyncClient, others: Others) -> dict[str, Any]:
    """An experiment whose first request the scheduler has taken."""
    made = await create(api)
    await others.announce("scheduler", DEFAULT_TENANT, ranked(made, 5))

    async def is_told() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["priority"] == 42)

    await eventually(is_told)
    return made


async def edit_of(others: Others, experiment: dict[str, Any], priority: int = 7) -> EditExperiment:
    found: list[EditExperiment] = []

    async def is_sent() -> bool:
        command = await next_command(others, EditExperiment)
        assert isinstance(command, EditExperiment)
        found.append(command)
        return (command.experiment_id, command.priority) == (UUID(experiment["id"]), priority)

    await eventually(is_sent)
    return found[-1]


async def test_a_change_is_waited_for_and_shown_as_it_stands(api: httpx.AsyncClient, others: Others) -> None:
    made = await queued(api, others)
    path = f"/v1/experiments/{made['number']}"
    asking = asyncio.create_task(api.patch(path, json={"priority": 7, "max_slots": 8, "pool": "big"}))
    command = await edit_of(others, made)
    assert (command.priority, command.weight, command.max_slots, command.pool) == (7, None, 8, "big")
    told = {"priority": 7, "max_slots": 8, "pool": "big", "operation_id": command.operation_id}
    await others.announce("scheduler", DEFAULT_TENANT, ranked(made, 6, **told))
    answer = await asking
    assert answer.status_code == 200
    await others.announce("scheduler", DEFAULT_TENANT, ranked(made, 4, priority=99))
    shown = await api.get(path)
    assert answer.headers["ETag"] == shown.headers["ETag"]
    for found in (answer.json(), shown.json()):
        assert (found["priority"], found["weight"], found["max_slots"], found["pool"]) == (7, 1.0, 8, "big")
    listed = (await api.get("/v1/experiments")).json()["items"]
    assert [one["priority"] for one in listed if one["id"] == made["id"]] == [7]


async def test_of_two_changes_at_once_each_has_its_answer(api: httpx.AsyncClient, others: Others) -> None:
    """The second may have been carried out before the gateway looks for the first: nothing of that one stands in the row then."""
    made = await queued(api, others)
    path = f"/v1/experiments/{made['number']}"
    asking, told = [], []
    for version, wish in ((6, 7), (7, 8)):
        asking.append(asyncio.create_task(api.patch(path, json={"priority": wish})))
        command = await edit_of(others, made, wish)
        told.append(ranked(made, version, priority=wish, operation_id=command.operation_id))
    await others.announce("scheduler", DEFAULT_TENANT, *told)
    answers = [await one for one in asking]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].json()["priority"] == 8


async def test_before_the_scheduler_has_spoken_the_config_is_shown(api: httpx.AsyncClient) -> None:
    made = await create(api)
    assert (made["priority"], made["weight"], made["max_slots"], made["pool"]) == (None, 1.0, None, "default")


async def test_a_refusal_is_told_with_its_range(api: httpx.AsyncClient, others: Others) -> None:
    made = await queued(api, others)
    asking = asyncio.create_task(api.patch(f"/v1/experiments/{made['number']}", json={"priority": 120}))
    command = await edit_of(others, made, 120)
    refused = OperationRefused(
        operation_id=command.operation_id,
        code="bad_priority",
        message="priority 120 is not between 1 (first) and 99 (last)",
    )
    await others.announce("scheduler", DEFAULT_TENANT, refused)
    answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_priority")
    assert "between 1 (first) and 99 (last)" in answer.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"max_slots": 4, "no_max_slots": True}, {"colour": 1}])
async def test_a_change_that_says_nothing_or_two_things_is_refused(
    api: httpx.AsyncClient, others: Others, body: dict[str, Any]
) -> None:
    made = await create(api)
    assert (await api.patch(f"/v1/experiments/{made['number']}", json=body)).status_code in (400, 422)


async def test_an_ended_experiment_has_no_place_to_change(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1, state="completed", final=True))

    async def is_ended() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["final"])

    await eventually(is_ended)
    answer = await api.patch(f"/v1/experiments/{made['number']}", json={"priority": 7})
    assert (answer.status_code, answer.json()["code"]) == (409, "experiment_ended")
