"""How far a running search goes, over the API: changed, shown as it now is, refused in the searcher's words."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx

from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import EditSearch, FinishExperiment, OperationRefused
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.test_experiments import changed, create, next_command
from tests.support.waiting import eventually


async def begun(api: httpx.AsyncClient, others: Others) -> dict[str, Any]:
    """An experiment that the searcher has taken up."""
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))

    async def is_told() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["state"] == "active")

    await eventually(is_told)
    return made


async def edit_of(others: Others, experiment: dict[str, Any]) -> EditSearch:
    found: list[EditSearch] = []

    async def is_sent() -> bool:
        command = await next_command(others, EditSearch)
        assert isinstance(command, EditSearch)
        found.append(command)
        return command.experiment_id == UUID(experiment["id"])

    await eventually(is_sent)
    return found[-1]


async def test_a_change_is_waited_for_and_shown_as_it_stands(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    path = f"/v1/experiments/{made['number']}"
    assert (await api.get(path)).json()["max_concurrent_trials"] == 16
    body = {"max_trials": 50, "max_concurrent_trials": 8}
    asking = asyncio.create_task(api.patch(f"{path}/search", json=body))
    command = await edit_of(others, made)
    assert (command.max_trials, command.max_concurrent_trials) == (50, 8)
    terms = {"operation_id": command.operation_id, "max_concurrent_trials": 8}
    told = changed(made, 3, trials={"planned": 50}, terms=terms)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2))
    await others.announce("searcher", DEFAULT_TENANT, told)
    answer = await asking
    for found in (answer.json(), (await api.get(path)).json()):
        assert (found["trials"]["planned"], found["max_concurrent_trials"]) == (50, 8)


async def test_a_budget_is_changed_and_shown_with_what_is_used_of_it(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await begun(api, others)
    path = f"/v1/experiments/{made['number']}"
    assert made["budget"] is None
    body = {"slot_hours": 30, "deadline": "2026-12-24T18:00:00", "no_cost": True}
    asking = asyncio.create_task(api.patch(f"{path}/search", json=body))
    command = await edit_of(others, made)
    assert (command.slot_hours, command.cost, command.lifted) == (30, None, ("cost",))
    assert command.deadline == datetime(2026, 12, 24, 18, tzinfo=UTC)
    budget = {"slot_hours": 30, "deadline": "2026-12-24T18:00:00Z", "used_slot_hours": 1.5}
    told = changed(made, 2, terms={"operation_id": command.operation_id}, budget=budget)
    await others.announce("searcher", DEFAULT_TENANT, told)
    shown = (await asking).json()["budget"]
    assert shown == {**budget, "cost": None, "used_cost": 0.0}


async def test_a_limit_that_is_given_and_taken_away_is_refused(api: httpx.AsyncClient) -> None:
    made = await create(api)
    answer = await api.patch(f"/v1/experiments/{made['number']}/search", json={"cost": 3, "no_cost": True})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_a_refusal_is_told_in_the_searchers_words(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    path = f"/v1/experiments/{made['number']}/search"
    asking = asyncio.create_task(api.patch(path, json={"max_trials": 2}))
    command = await edit_of(others, made)
    refused = OperationRefused(
        operation_id=command.operation_id, code="too_few_trials", message="4 trials are made already"
    )
    await others.announce("searcher", DEFAULT_TENANT, refused)
    answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (422, "too_few_trials")


async def test_a_change_that_says_nothing_is_refused(api: httpx.AsyncClient) -> None:
    made = await create(api)
    answer = await api.patch(f"/v1/experiments/{made['number']}/search", json={})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert "max_trials" in answer.json()["hint"]


async def test_a_search_is_finished_early(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    asking = asyncio.create_task(api.post(f"/v1/experiments/{made['number']}/finish", json={}))

    async def is_sent() -> bool:
        command = await next_command(others, FinishExperiment)
        return getattr(command, "experiment_id", None) == UUID(made["id"])

    await eventually(is_sent)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, state="stopping"))
    assert (await asking).json()["state"] == "stopping"


async def test_an_ended_search_is_not_changed(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, state="completed", final=True))
    path = f"/v1/experiments/{made['number']}"

    async def is_ended() -> bool:
        return bool((await api.get(path)).json()["final"])

    await eventually(is_ended)
    answer = await api.patch(f"{path}/search", json={"max_trials": 9})
    assert (answer.status_code, answer.json()["code"]) == (409, "experiment_ended")
