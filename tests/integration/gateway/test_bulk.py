"""One action on many experiments: those that were seen, and no others."""

import asyncio
from typing import Any

import httpx

from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import OperationRefused, PauseExperiment
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.sites import user
from tests.integration.gateway.test_experiments import changed, create, next_command
from tests.integration.gateway.test_long_operations import settled
from tests.support.waiting import eventually

PATH = "/v1/bulk/experiments"


async def begun(api: httpx.AsyncClient, others: Others, name: str, *states: str) -> list[dict[str, Any]]:
    """Experiments that the searcher has taken up, one in each state."""
    made = [await create(api, name=name) for _ in states]
    for one, state in zip(made, states, strict=True):
        await others.announce(
            "searcher", DEFAULT_TENANT, changed(one, 1, state=state, final=state == "error")
        )

    async def known() -> bool:
        page = (await api.get("/v1/experiments", params={"filter": f"name = {name}"})).json()
        return all(one["version"] == 1 for one in page["items"])

    await eventually(known)
    return made


async def look(api: httpx.AsyncClient, filter_: str) -> dict[str, Any]:
    answer = await api.get(PATH, params={"filter": filter_})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_what_was_seen_is_acted_on_and_each_is_told_of(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others, "many", "active", "active", "active", "paused", "error")
    seen = await look(api, "name = many")
    numbers = [one["number"] for one in made]
    assert seen["count"] == 5 and [one["number"] for one in seen["sample"]] == numbers[::-1]
    asking = asyncio.create_task(api.post(PATH, json={"action": "pause", "selection": seen["selection"]}))
    command = await next_command(others, PauseExperiment)
    assert isinstance(command, PauseExperiment)
    told = [one for one in made[:3] if one["id"] == str(command.experiment_id)]
    done, slow = (one for one in made[:3] if one not in told)
    no = OperationRefused(operation_id=command.operation_id, code="experiment_is_odd", message="it is odd")
    await others.announce("searcher", DEFAULT_TENANT, no, changed(done, 2, state="paused"))
    answer = await asking
    assert answer.status_code == 200, answer.text
    items = {one["experiment"]: one for one in answer.json()["items"]}
    assert [one["number"] for one in answer.json()["items"]] == numbers
    came = {one["number"]: (items[one["id"]]["state"], items[one["id"]]["code"]) for one in made}
    assert came == {
        told[0]["number"]: ("refused", "experiment_is_odd"),
        done["number"]: ("done", None),
        slow["number"]: ("running", None),
        made[3]["number"]: ("done", None),
        made[4]["number"]: ("refused", "experiment_ended"),
    }
    await others.announce("searcher", DEFAULT_TENANT, changed(slow, 2, state="paused"))
    later = await settled(api, f"/v1/operations/{items[slow['id']]['operation']}")
    assert (later["operation"], later["state"], later["result"]["state"]) == (
        "PauseExperiment",
        "done",
        "paused",
    )
    [record] = (await api.get("/v1/audit", params={"operation": "ActOnExperiments", "limit": 1})).json()[
        "items"
    ]
    assert record["before"] == {str(one["number"]): state for one, state in zip(made, ("active", "active", "active", "paused", "error"), strict=True)}  # fmt: skip


async def test_what_has_changed_since_is_looked_at_again(api: httpx.AsyncClient, others: Others) -> None:
    first, second = await begun(api, others, "moving", "active", "paused")
    seen = await look(api, "name = moving and state = active")
    await others.announce("searcher", DEFAULT_TENANT, changed(second, 2, state="active"))

    async def met(count: int) -> bool:
        return bool((await look(api, "name = moving and state = active"))["count"] == count)

    await eventually(lambda: met(2))
    body = {"action": "kill", "selection": seen["selection"]}
    refused = await api.post(PATH, json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "selection_changed")
    assert "matched 1 experiments in the preview and matches 2 now" in refused.json()["detail"]
    await others.announce("searcher", DEFAULT_TENANT, changed(first, 2, state="paused"))
    await eventually(lambda: met(1))
    refused = await api.post(PATH, json=body)
    assert refused.status_code == 409 and "not the same ones" in refused.json()["detail"]
    for one in (first, second):
        assert (await api.get(f"/v1/experiments/{one['id']}")).json()["state"] in ("active", "paused")


async def test_of_named_ones_all_must_be_there(api: httpx.AsyncClient, others: Others) -> None:
    (made,) = await begun(api, others, "named", "paused")
    refused = await api.post(PATH, json={"action": "pause", "experiments": [made["id"], "999999"]})
    assert refused.status_code == 404 and "999999" in refused.json()["detail"]
    twice = {"action": "pause", "experiments": [made["id"], str(made["number"])]}
    assert [one["state"] for one in (await api.post(PATH, json=twice)).json()["items"]] == ["done"]
    for body in ({}, {"experiments": [made["id"]], "selection": "x"}):
        assert (await api.post(PATH, json={"action": "pause", **body})).status_code == 400
    nothing = await look(api, "name = nobody-is-called-so")
    assert (nothing["count"], nothing["selection"], nothing["sample"]) == (0, None, [])


async def test_a_selection_is_its_callers_and_holds_only_what_that_one_may_change(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    await begun(api, others, "shared", "paused")
    mine = await look(api, "name = shared")
    elsewhere = await user(api, "bulk-elsewhere", "editor", workspace="elsewhere")
    viewer = await user(api, "bulk-viewer", "viewer")
    async with gateway.client(elsewhere) as other, gateway.client(viewer) as reader:
        assert (await look(other, "name = shared"))["count"] == 0
        body = {"action": "pause", "selection": mine["selection"]}
        refused = await other.post(PATH, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "selection_invalid")
        assert (await reader.get(PATH, params={"filter": "number > 0"})).status_code == 403
        assert (await reader.post(PATH, json=body)).status_code == 403
