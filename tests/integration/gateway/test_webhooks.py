"""What happens is told elsewhere: signed, once or a few times, to who asked for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from shared.ids import DEFAULT_TENANT, derived_id
from shared.messages.budgets import BudgetSpent, BudgetWarned
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, start_replica, stop_gateway
from tests.integration.gateway.hooks import QUICK, deliveries, experiment_changed, hook, submitted
from tests.integration.gateway.receiving import Receiver, flood, never, receiving, trickle
from tests.integration.gateway.seeding import NOW, seed, trial_changed
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """One that may call this machine, and soon gives up."""
    found = await start_gateway(settings("gateway"), tmp_path_factory.mktemp("gateway"), **QUICK)
    yield found
    await stop_gateway(found)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def test_what_happens_is_sent_as_a_signed_cloud_event(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    made_hook = await hook(api, receiver, "/signed", events=["experiment.completed"])
    experiment = await submitted(api)
    done = experiment_changed(experiment, 2, "completed", final=True, ended_at=NOW)
    await others.announce("searcher", DEFAULT_TENANT, experiment_changed(experiment, 1, "active"), done)
    await eventually(lambda: bool(receiver.at("/signed")))
    got = receiver.at("/signed")[0]
    assert got.headers["content-type"].startswith("application/cloudevents+json")
    event = got.event
    assert (event["specversion"], event["type"]) == ("1.0", "com.muster.experiment.completed")
    assert event["source"] == f"urn:muster:tenant:{DEFAULT_TENANT}" and event["id"].isdecimal()
    assert event["data"]["experiment"]["number"] == experiment["number"]
    assert event["data"]["resource"]["state"] == "completed"
    assert got.is_signed_by(made_hook["secret"]) and not got.is_signed_by("whsec_AAAA")

    async def delivered() -> bool:
        found = await deliveries(api, made_hook)
        return [(one["id"], one["state"], one["status"]) for one in found] == [(got.id, "delivered", 204)]

    await eventually(delivered)


async def test_who_looks_after_a_budget_hears_when_it_is_nearly_spent(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    await hook(api, receiver, "/money", events=["budget.*"])
    await hook(api, receiver, "/lab", events=["budget.warned"], workspace="lab")
    about: dict[str, Any] = {"per_month": 100.0, "since": NOW}
    lab = {"budget_id": derived_id(DEFAULT_TENANT, "budget", "lab"), "workspace": "lab"}
    whole = {"budget_id": derived_id(DEFAULT_TENANT, "budget", "")}
    await others.announce(
        "scheduler",
        DEFAULT_TENANT,
        BudgetWarned.model_validate({**about, **lab, "spent": 81.0, "percent": 80, "version": 80}),
        BudgetWarned.model_validate({**about, **whole, "spent": 82.0, "percent": 80, "version": 80}),
        BudgetSpent.model_validate({**about, **lab, "spent": 100.5, "percent": 100, "version": 100}),
    )
    await eventually(lambda: len(receiver.types_at("/money")) == 3)
    assert sorted(receiver.types_at("/money")) == ["budget.spent", "budget.warned", "budget.warned"]
    await eventually(lambda: bool(receiver.at("/lab")))
    (mine,) = receiver.at("/lab")
    assert (mine.event["data"]["resource"]["workspace"], mine.event["data"]["resource"]["spent"]) == (
        "lab",
        81.0,
    )


async def test_progress_is_no_event_and_each_state_is_one(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    await hook(api, receiver, "/states", events=["trial.*"])
    experiment = await submitted(api)
    states = ["queued", "running", "running", "running", "completed"]
    await others.announce(
        "searcher",
        DEFAULT_TENANT,
        *(trial_changed(experiment, 1, at, state=state) for at, state in enumerate(states, 1)),
    )
    await eventually(lambda: "trial.completed" in receiver.types_at("/states"))
    assert sorted(receiver.types_at("/states")) == ["trial.completed", "trial.queued", "trial.running"]


async def test_a_webhook_hears_of_its_place_and_its_labels_alone(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    places: dict[str, dict[str, Any]] = {
        "/all": {},
        "/vision": {"workspace": "vision"},
        "/detect": {"workspace": "vision", "project": "detect"},
        "/nightly": {"labels": ["nightly", "weekly"]},
    }
    for path, narrowed in places.items():
        await hook(api, receiver, path, events=["experiment.active"], **narrowed)
    configs = (
        "workspace: vision\nproject: detect\n",
        "workspace: vision\nproject: other\nlabels: [nightly]\n",
    )
    experiments = [await submitted(api, more) for more in (*configs, "workspace: speech\nproject: detect\n")]
    for one in experiments:
        await others.announce("searcher", DEFAULT_TENANT, experiment_changed(one, 1, "active"))
    counts = [3, 2, 1, 1]
    await eventually(lambda: [len(receiver.at(path)) for path in places] == counts)
    heard = {path: {one.event["data"]["experiment"]["id"] for one in receiver.at(path)} for path in places}
    ids = [one["id"] for one in experiments]
    assert heard == {"/all": set(ids), "/vision": set(ids[:2]), "/detect": {ids[0]}, "/nightly": {ids[1]}}


async def test_models_and_versions_are_told_by_what_became_of_them(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    await hook(api, receiver, "/models", events=["model.*", "version.*"], workspace="zoo")
    await hook(api, receiver, "/elsewhere", events=["model.*", "version.*"], workspace="vision")
    await seed(api, others, workspace="zoo")
    await eventually(lambda: len(receiver.at("/models")) == 2)
    assert sorted(receiver.types_at("/models")) == ["model.created", "version.created"]
    assert all(one.event["data"]["workspace"] == "zoo" for one in receiver.at("/models"))
    assert receiver.at("/elsewhere") == []


async def test_what_fails_is_tried_again_under_one_id_until_it_is_given_up_and_can_be_replayed(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    made_hook = await hook(api, receiver, "/failing", events=["experiment.active"])
    receiver.say("/failing", 500)
    for _ in range(2):
        await others.announce(
            "searcher", DEFAULT_TENANT, experiment_changed(await submitted(api), 1, "active")
        )

    async def given_up() -> bool:
        return len(await deliveries(api, made_hook, state="dead")) == 2

    await eventually(given_up)
    dead = await deliveries(api, made_hook, state="dead")
    assert all(one["attempts"] > 2 and one["error"] == "the receiver answered 500" for one in dead)
    tried = receiver.at("/failing")
    assert {one.id for one in tried} == {one["id"] for one in dead}
    assert len({one.body for one in tried}) == 2
    shown = (await api.get(f"/v1/webhooks/{made_hook['id']}")).json()
    assert (shown["dead"], shown["waiting"]) == (2, 0)

    receiver.say("/failing", 200)
    receiver.got.clear()
    path = f"/v1/webhooks/{made_hook['id']}/deliveries"
    assert (await api.post(f"{path}/{dead[0]['id']}/replay")).status_code == 200
    await eventually(lambda: bool(receiver.at("/failing")))
    assert (await api.post(f"{path}/replay")).json() == {"deliveries": 1}
    await eventually(lambda: {one.id for one in receiver.at("/failing")} == {one["id"] for one in dead})
    await eventually(lambda: _are(api, made_hook, "delivered", 2))


async def _are(api: httpx.AsyncClient, made_hook: dict[str, Any], state: str, count: int) -> bool:
    return len(await deliveries(api, made_hook, state=state)) == count


async def test_a_test_says_at_once_what_came_of_it_whatever_the_target_does(
    api: httpx.AsyncClient, receiver: Receiver
) -> None:
    receiver.say("/redirecting", 302, Location=f"{receiver.url}/secret")
    receiver.say("/gone", 410)
    receiver.answers |= {"/silent": never, "/slow": trickle, "/huge": flood}
    expected = {
        "/fine": ("delivered", 204, None),
        "/redirecting": ("dead", 302, "the receiver answered 302; redirects are not followed"),
        "/silent": ("dead", None, "no answer within 1 s"),
        "/slow": ("delivered", 200, None),
        "/huge": ("delivered", 200, None),
        "/gone": ("dead", 410, "the receiver answered 410"),
    }
    for path, said in expected.items():
        made_hook = await hook(api, receiver, path)
        found = (await api.post(f"/v1/webhooks/{made_hook['id']}/test")).json()
        assert (found["state"], found["status"], found["error"]) == said, path
        assert found["is_test"] and found["attempts"] == 1
        assert (await api.get(f"/v1/webhooks/{made_hook['id']}")).json()["enabled"] == (path != "/gone")
        replayed = (await api.post(f"/v1/webhooks/{made_hook['id']}/deliveries/replay")).json()
        assert replayed["deliveries"] == (said[0] == "dead"), (
            "a test that was given up is sent again as all is"
        )
        await api.delete(f"/v1/webhooks/{made_hook['id']}")
    assert receiver.at("/secret") == []
    assert receiver.types_at("/fine") == ["webhook.tested"]


async def test_a_silent_target_holds_up_nobody_else(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    receiver.answers["/stuck"] = never
    await hook(api, receiver, "/stuck", events=["trial.queued"])
    await hook(api, receiver, "/brisk", events=["trial.queued"])
    experiment = await submitted(api)
    queued = (trial_changed(experiment, number, state="queued") for number in range(1, 13))
    await others.announce("searcher", DEFAULT_TENANT, *queued)
    await eventually(lambda: len(receiver.at("/brisk")) == 12)
    assert len({one.id for one in receiver.at("/brisk")}) == 12
    assert len({one.id for one in receiver.at("/stuck")}) < 12
    assert receiver.most_open["/stuck"] <= 4


async def test_a_rotated_secret_signs_beside_the_old_one_for_a_while(
    api: httpx.AsyncClient, receiver: Receiver
) -> None:
    made_hook = await hook(api, receiver, "/rotating")
    path = f"/v1/webhooks/{made_hook['id']}"
    rotated = (await api.post(f"{path}/secret/rotate", json={"overlap_s": 3600})).json()
    await api.post(f"{path}/test")
    last = (await api.post(f"{path}/secret/rotate", json={"overlap_s": 0})).json()
    await api.post(f"{path}/test")
    secrets = [one["secret"] for one in (made_hook, rotated, last)]
    signed = [[one.is_signed_by(secret) for secret in secrets] for one in receiver.at("/rotating")]
    assert signed == [[True, True, False], [False, False, True]]
    shown = (await api.get(path)).text
    assert rotated["previous_secret_until"] and not any(secret in shown for secret in secrets)


async def test_slack_and_alertmanager_get_what_they_understand(
    api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    for form in ("slack", "alertmanager"):
        await hook(api, receiver, f"/{form}", form=form, events=["experiment.error"])
    experiment = await submitted(api)
    failed = experiment_changed(experiment, 1, "error", reason="<!channel> & more", final=True)
    await others.announce("searcher", DEFAULT_TENANT, failed)
    await eventually(lambda: bool(receiver.at("/slack") and receiver.at("/alertmanager")))
    number = experiment["number"]
    said = receiver.at("/slack")[0].event["text"]
    assert said == f"Experiment {number} 'seeded' is in error: &lt;!channel&gt; &amp; more"
    alert = receiver.at("/alertmanager")[0].event[0]
    assert alert["labels"]["alertname"] == "MusterExperimentError"
    assert (alert["labels"]["severity"], alert["labels"]["experiment"]) == ("critical", str(number))
    assert alert["startsAt"] < alert["endsAt"]


async def test_two_replicas_send_each_event_once(
    gateway: Gateway,
    api: httpx.AsyncClient,
    others: Others,
    receiver: Receiver,
    settings: Callable[[str], dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    replica = await start_replica(gateway, settings("gateway"), tmp_path_factory.mktemp("replica"), **QUICK)
    try:
        for path in ("/both", "/besides"):
            await hook(api, receiver, path, events=["trial.queued"])
        experiment = await submitted(api)
        queued = (trial_changed(experiment, number, state="queued") for number in range(1, 101))
        await others.announce("searcher", DEFAULT_TENANT, *queued)
        await eventually(lambda: len(receiver.at("/both")) >= 100 and len(receiver.at("/besides")) >= 100)
        await asyncio.sleep(1)
        for path in ("/both", "/besides"):
            assert len(receiver.at(path)) == len({one.id for one in receiver.at(path)}) == 100
    finally:
        await stop_gateway(replica)
