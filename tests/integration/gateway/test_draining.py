"""Workers are drained by who keeps the site: the command goes out in the site's name, and the worker is shown as it then is."""

import asyncio
from typing import Any

import httpx

from shared.ids import DEFAULT_TENANT, SITE
from shared.messages.experiments import OperationRefused
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.workers import DisableSlot, DrainWorker
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import add_token
from tests.integration.gateway.test_experiments import next_command
from tests.integration.gateway.test_long_operations import ASYNC, settled
from tests.integration.gateway.test_machines import view
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


def standing(state: str) -> ClusterView:
    found = view("w1")
    return found.model_copy(update={"workers": (found.workers[0].model_copy(update={"state": state}),)})


async def told(others: Others, asking: "asyncio.Task[httpx.Response]", state: str) -> tuple[Any, Any]:
    """The command, once it is out and the scheduler's view has changed, and the worker as it is answered."""
    command = await next_command(others, DrainWorker)
    others.say(GetCluster, standing(state))
    return command, (await asking).json()


async def test_a_worker_is_drained_and_taken_back(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, standing("ready"))
    asking = asyncio.create_task(api.post("/v1/workers/w1/drain", json={"reclaim": True}))
    command, worker = await told(others, asking, "draining")
    assert (command.worker, command.reclaim, command.undo) == ("w1", True, False)
    assert worker["state"] == "draining"
    message = await others.buses["admin"].jetstream.get_last_msg("CMD", DrainWorker.subject())
    assert (message.headers or {})["Muster-Tenant"] == str(SITE)
    undoing = asyncio.create_task(api.post("/v1/workers/w1/undrain", json={}))
    await eventually(lambda: is_undone(others))
    others.say(GetCluster, standing("ready"))
    assert (await undoing).json()["state"] == "ready"


async def is_undone(others: Others) -> bool:
    command = await next_command(others, DrainWorker)
    return isinstance(command, DrainWorker) and command.undo


def racked(states: dict[str, str]) -> ClusterView:
    found = view(*states)
    racks = {"w1": "r7", "w2": "r7", "w3": "r8"}
    workers = (
        one.model_copy(update={"state": states[one.worker], "labels": {"rack": racks[one.worker]}})
        for one in found.workers
    )
    return found.model_copy(update={"workers": tuple(workers)})


async def test_all_workers_of_a_rack_are_drained_at_once(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, racked({"w1": "ready", "w2": "ready", "w3": "ready"}))
    refused = await api.post("/v1/workers/drain", json={"labels": {"rack": "r9"}})
    assert refused.status_code == 404 and "rack=r9" in refused.text
    assert (await api.post("/v1/workers/drain", json={"labels": {}})).status_code in (400, 422)
    asking = asyncio.create_task(api.post("/v1/workers/drain", json={"labels": {"rack": "r7"}}))

    async def is_sent() -> bool:
        command = await next_command(others, DrainWorker)
        return isinstance(command, DrainWorker) and command.worker == "w2"

    await eventually(is_sent)
    others.say(GetCluster, racked({"w1": "draining", "w2": "ready", "w3": "ready"}))
    assert not asking.done()
    others.say(GetCluster, racked({"w1": "draining", "w2": "draining", "w3": "ready"}))
    found = (await asking).json()["items"]
    assert [(one["id"], one["state"]) for one in found] == [("w1", "draining"), ("w2", "draining")]


async def test_a_single_slot_is_disabled_and_enabled(api: httpx.AsyncClient, others: Others) -> None:
    def slots(*disabled: int) -> ClusterView:
        found = view("w1")
        changes = {"slot_ids": (0, 2), "disabled_slots": disabled}
        return found.model_copy(update={"workers": (found.workers[0].model_copy(update=changes),)})

    others.say(GetCluster, slots())
    refused = await api.post("/v1/workers/w1/slots/disable", json={"slot": 1})
    assert refused.status_code == 404 and refused.json()["hint"] == "its slots are: 0, 2"
    asking = asyncio.create_task(api.post("/v1/workers/w1/slots/disable", json={"slot": 2}))

    async def is_sent() -> bool:
        command = await next_command(others, DisableSlot)
        return isinstance(command, DisableSlot) and (command.slot, command.undo) == (2, False)

    await eventually(is_sent)
    others.say(GetCluster, slots(2))
    assert (await asking).json()["disabled_slots"] == [2]
    others.say(GetCluster, slots())
    assert (await api.post("/v1/workers/w1/slots/enable", json={"slot": 2})).json()["disabled_slots"] == []


async def test_a_worker_that_is_not_there_is_not_found(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, standing("ready"))
    refused = await api.post("/v1/workers/w9/drain", json={})
    assert refused.status_code == 404 and "muster worker list" in refused.json()["hint"]


async def test_who_may_only_edit_experiments_may_not_drain(
    gateway: Gateway, others: Others, postgres: TestDatabase
) -> None:
    others.say(GetCluster, standing("draining"))
    for role, status in (("editor", 404), ("operator", 200)):
        token = await add_token(
            postgres.urls["gateway"].system, gateway.directory, DEFAULT_TENANT, role, f"drain-{role}"
        )
        async with gateway.client(token) as client:
            assert (await client.post("/v1/workers/w1/drain", json={})).status_code == status


async def test_what_the_scheduler_takes_its_time_for_is_an_operation_of_who_ordered_it(
    api: httpx.AsyncClient, gateway: Gateway, others: Others, postgres: TestDatabase
) -> None:
    others.say(GetCluster, racked({"w1": "ready", "w2": "ready", "w3": "ready"}))
    pool = (await api.get("/v1/pools")).json()["items"][0]["name"]
    drained, racks, switched, ruled = await asyncio.gather(
        api.post("/v1/workers/w1/drain", json={}, headers=ASYNC),
        api.post("/v1/workers/drain", json={"labels": {"rack": "r7"}}, headers=ASYNC),
        api.post("/v1/workers/w3/drain", json={}),
        api.patch(f"/v1/pools/{pool}", json={"ageing_s": 77}, headers=ASYNC),
    )
    assert [one.status_code for one in (drained, racks, switched, ruled)] == [202] * 4
    assert switched.json()["id"] == "w3", "who does not ask for the operation is shown the worker"
    paths = [one.headers["location"] for one in (drained, racks, switched, ruled)]
    assert {(await api.get(path)).json()["state"] for path in paths} == {"running"}
    no = OperationRefused(operation_id=drained.json()["id"], code="worker_is_odd", message="it is odd")
    await others.announce("scheduler", SITE, no)
    refused = await settled(api, paths[0])
    found = racked({"w1": "draining", "w2": "draining", "w3": "draining"})
    rules = found.pools[0].rules.model_copy(update={"ageing_s": 77.0})
    others.say(
        GetCluster, found.model_copy(update={"pools": (found.pools[0].model_copy(update={"rules": rules}),)})
    )
    done = [await settled(api, path) for path in paths[1:]]
    assert (refused["state"], refused["code"], refused["message"]) == (
        "refused",
        "worker_is_odd",
        "it is odd",
    )
    assert [one["state"] for one in done] == ["done"] * 3
    assert [one["id"] for one in done[0]["result"]["items"]] == ["w1", "w2"]
    assert (done[1]["result"]["state"], done[2]["result"]["rules"]["ageing_s"]) == ("draining", 77.0)
    listed = (await api.get("/v1/operations", params={"limit": 4})).json()["items"]
    assert {one["operation"] for one in listed} == {"DrainWorker", "DrainWorkers", "EditPool"}
    system = postgres.urls["gateway"].system
    other = await add_token(system, gateway.directory, DEFAULT_TENANT, "operator", "another-keeper")
    async with gateway.client(other) as stranger:
        assert (await stranger.get(paths[1])).status_code == 404
