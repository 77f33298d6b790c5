"""Experiments from the request to the projection, as a user sees them."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from shared.ids import DEFAULT_TENANT, ExperimentId, TrialId, derived_id
from shared.messages import experiments as messages
from shared.messages.base import Command
from shared.messages.checkpoints import CheckpointPage, CheckpointView, ListCheckpoints
from tests.integration.gateway.conftest import Gateway, Others, start_replica, stop_gateway
from tests.integration.gateway.seeding import make_tenant, trial_changed
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

CONFIG = """\
name: digits
entrypoint: python3 -m train
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 4}
"""


async def create(api: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer = await api.post("/v1/experiments", json={"config_yaml": CONFIG, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def changed(experiment: dict[str, Any], version: int, **more: Any) -> messages.ExperimentChanged:
    values = {
        "experiment_id": experiment["id"],
        "version": version,
        "number": experiment["number"],
        "state": "active",
        "started_at": datetime.now(UTC),
    }
    return messages.ExperimentChanged.model_validate(values | more)


async def test_a_created_experiment_is_there_at_once_and_follows_the_searcher(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api, labels=["mine"])
    assert made["state"] == "submitted" and made["version"] == 0 and made["labels"] == ["mine"]
    assert made["searcher"] == "random" and made["metric"] == "accuracy" and not made["smaller_is_better"]
    assert made["config"]["max_restarts"] == 5 and made["config_yaml"] == CONFIG
    by_number = await api.get(f"/v1/experiments/{made['number']}")
    assert by_number.json() == made
    best = messages.BestTrial(
        trial_id=TrialId(derived_id(UUID(made["id"]), "trial", 0)), trial_number=0, step=10, value=0.9
    )
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, progress=0.5, best=best))
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1, state="paused"))

    async def followed() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["version"] == 2)

    await eventually(followed)
    now = (await api.get(f"/v1/experiments/{made['id']}")).json()
    assert now["state"] == "active" and now["progress"] == 0.5 and now["best"]["value"] == 0.9


async def test_a_late_older_state_of_a_trial_does_not_replace_a_newer_one(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    newer = trial_changed(made, 0, version=5, state="stopped")
    await others.announce("searcher", DEFAULT_TENANT, newer)
    await eventually(lambda: _shows(api, newer))
    # In a batch of its own, and with one behind it that shows when it was taken.
    older, behind = trial_changed(made, 0, version=4), trial_changed(made, 1, state="queued")
    await others.announce("searcher", DEFAULT_TENANT, older, behind)
    await eventually(lambda: _shows(api, behind))
    assert await _shows(api, newer)


async def _shows(api: httpx.AsyncClient, trial: messages.TrialChanged) -> bool:
    answer = await api.get(f"/v1/trials/{trial.trial_id}")
    return answer.is_success and answer.json()["state"] == trial.state


async def test_a_best_step_is_shown_with_what_became_of_its_checkpoint(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    trial = TrialId(derived_id(UUID(made["id"]), "trial", 0))
    best = messages.BestTrial(trial_id=trial, trial_number=0, step=10, value=0.9)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, best=best))

    async def shown() -> Any:
        found = (await api.get(f"/v1/experiments/{made['id']}")).json()["best"]
        return found and found["checkpoint"]

    async def is_shown(state: str | None) -> bool:
        found = await shown()
        return bool(found) and found["state"] == state

    others.say(ListCheckpoints, CheckpointPage(checkpoints=()))
    await eventually(lambda: is_shown(None))
    views = [
        CheckpointView.model_validate(
            {
                "checkpoint_id": derived_id(trial, "checkpoint", run), "trial_id": trial, "experiment_id": made["id"],
                "run_number": run, "step": 10, "state": state, "size_bytes": 3, "files": (), "reason": reason,
                "created_at": datetime.now(UTC),
            }
        )
        for run, state, reason in ((2, "abandoned", "worker w7 is lost for good"), (1, "saved", None))
    ]  # fmt: skip
    others.say(ListCheckpoints, CheckpointPage(checkpoints=tuple(views[:1])))
    await eventually(lambda: is_shown("abandoned"))
    assert (await shown())["reason"] == "worker w7 is lost for good"
    others.say(ListCheckpoints, CheckpointPage(checkpoints=tuple(views)))
    await eventually(lambda: is_shown("saved"))
    listed = (await api.get("/v1/experiments", params={"limit": 50})).json()["items"]
    assert [one["best"]["checkpoint"] for one in listed if one["id"] == made["id"]] == [None]
    path = f"/v1/experiments/{made['id']}"
    tag = (await api.get(path)).headers["ETag"]
    nothing = await api.patch(path, json={}, headers={"If-Match": tag})
    assert nothing.status_code == 400, (
        "what the registry says of the checkpoint is no change of the experiment"
    )


async def test_numbers_have_no_gap_and_no_double_under_concurrency(api: httpx.AsyncClient) -> None:
    before = (await create(api))["number"]
    made = await asyncio.gather(*(create(api) for _ in range(20)))
    assert sorted(one["number"] for one in made) == list(range(before + 1, before + 21))


async def test_the_same_key_has_the_same_answer_and_makes_one_experiment(api: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "deploy-7"}
    body = {"config_yaml": CONFIG, "name": "once"}
    answers = await asyncio.gather(*(api.post("/v1/experiments", json=body, headers=key) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    found = (await api.get("/v1/experiments", params={"name_contains": "once"})).json()["items"]
    assert [one["id"] for one in found] == [answers[0].json()["id"]]
    other = await api.post("/v1/experiments", json=body | {"name": "twice"}, headers=key)
    assert other.status_code == 409 and other.json()["code"] == "idempotency_key_reused"


async def test_the_submission_reaches_the_bus(api: httpx.AsyncClient, others: Others) -> None:
    seen: list[messages.SubmissionCommitted] = []
    bus = others.buses["admin"]
    subject = messages.SubmissionCommitted.subject(DEFAULT_TENANT)
    made = await create(api)

    async def arrived() -> bool:
        found = await bus.jetstream.get_last_msg("EVT", subject)
        seen.append(messages.SubmissionCommitted.from_bytes(found.data or b""))
        return seen[-1].experiment_id == UUID(made["id"])

    await eventually(arrived)
    assert seen[-1].number == made["number"] and seen[-1].config["searcher"] == made["config"]["searcher"]


async def test_the_list_pages_stably_and_filters(api: httpx.AsyncClient) -> None:
    for _ in range(5):
        await create(api, labels=["paged"], name="page")
    params: dict[str, Any] = {"label": "paged", "limit": 2}
    numbers: list[int] = []
    for _ in range(10):
        page = (await api.get("/v1/experiments", params=params)).json()
        numbers += [one["number"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert len(numbers) == 5 and numbers == sorted(numbers, reverse=True)
    foreign = await api.get("/v1/models", params={"cursor": params["cursor"]})
    assert foreign.status_code == 400 and foreign.json()["code"] == "cursor_invalid"
    none = await api.get("/v1/experiments", params={"state": ["error", "rejected"], "label": "paged"})
    assert none.json()["items"] == []


async def test_a_fork_changes_what_it_names_and_keeps_the_rest(api: httpx.AsyncClient) -> None:
    made = await create(api)
    fork = await api.post(
        f"/v1/experiments/{made['number']}/fork",
        json={"overrides": {"searcher": {"max_trials": 9}}, "name": "fork"},
    )
    assert fork.status_code == 201, fork.text
    found = fork.json()
    assert found["forked_from"] == made["id"] and found["name"] == "fork"
    assert found["config"]["searcher"] == made["config"]["searcher"] | {"max_trials": 9}
    bad = await api.post(
        f"/v1/experiments/{made['number']}/fork", json={"overrides": {"searcher": {"nme": 1}}}
    )
    assert bad.status_code == 422 and "searcher" in bad.json()["place"]


async def test_what_the_owners_refuse_is_told_and_nothing_is_left(
    api: httpx.AsyncClient, others: Others
) -> None:
    from shared.errors import Rejected
    from shared.messages.queue import Placeable, ValidatePlacement

    before = (await create(api))["number"]
    others.say(
        ValidatePlacement, Rejected("pool_unknown", "there is no pool 'tpu'", "resources.resource_pool")
    )
    elsewhere = {"config_yaml": f"{CONFIG}resources: {{resource_pool: tpu}}\n"}
    refused = await api.post("/v1/experiments", json=elsewhere)
    others.say(ValidatePlacement, Placeable(warnings=("slow",)))
    assert refused.status_code == 422
    assert refused.json()["code"] == "pool_unknown" and refused.json()["place"] == "resources.resource_pool"
    assert (await create(api))["number"] == before + 1
    assert (await create(api, **elsewhere))["warnings"] == ["slow"]
    others.say(ValidatePlacement, Placeable())


async def next_command(others: Others, kind: type[Command], after: Command | None = None) -> Command:
    """The newest command of a kind on the bus, once it is another than `after`."""
    found: list[Command] = []

    async def sent() -> bool:
        from nats.js.errors import NotFoundError

        try:
            message = await others.buses["admin"].jetstream.get_last_msg("CMD", kind.subject())
        except NotFoundError:
            return False
        found.append(kind.from_bytes(message.data or b""))
        return found[-1] != after

    await eventually(sent)
    return found[-1]


async def test_pausing_waits_for_the_searcher_and_shows_the_new_state(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    early = await api.post(f"/v1/experiments/{made['number']}/pause")
    assert early.status_code == 503 and early.json()["code"] == "still_working"
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
    asking = asyncio.create_task(api.post(f"/v1/experiments/{made['number']}/pause"))
    command = await next_command(others, messages.PauseExperiment)
    assert isinstance(command, messages.PauseExperiment) and command.experiment_id == ExperimentId(
        UUID(made["id"])
    )
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, state="paused"))
    answer = await asking
    assert answer.status_code == 200 and answer.json()["state"] == "paused"


async def test_a_refused_command_tells_why(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
    asking = asyncio.create_task(api.post(f"/v1/experiments/{made['number']}/archive"))
    command = await next_command(others, messages.ArchiveExperiment)
    refused = messages.OperationRefused(
        operation_id=command.operation_id, code="experiment_is_active", message="it runs"
    )
    await others.announce("searcher", DEFAULT_TENANT, refused)
    answer = await asking
    assert answer.status_code == 409 and answer.json()["code"] == "experiment_is_active"


async def test_an_ended_experiment_cannot_be_resumed(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1, state="completed", final=True))

    async def ended() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["final"])

    await eventually(ended)
    answer = await api.post(f"/v1/experiments/{made['id']}/resume")
    assert answer.status_code == 409 and answer.json()["code"] == "experiment_ended"
    assert (await api.post(f"/v1/experiments/{made['id']}/cancel")).json()["state"] == "completed"


@pytest.mark.parametrize("reference", ["999999", "0", "abc", "../1", "01987cc5-0000-7000-8000-000000000000"])
async def test_unknown_and_malformed_ids_look_the_same(api: httpx.AsyncClient, reference: str) -> None:
    answer = await api.get(f"/v1/experiments/{reference}")
    assert answer.status_code == 404 and answer.json()["code"] == "not_found"
    if "/" not in reference:
        assert answer.json()["detail"] == f"experiment {reference} was not found"


async def test_without_searcher_and_scheduler_submissions_are_taken(gateway: Gateway, others: Others) -> None:
    from shared.errors import Transient
    from shared.messages.queue import Placeable, ValidatePlacement

    others.say(ValidatePlacement, Transient("away"))
    others.say(messages.ValidateConfig, Transient("away"))
    async with gateway.client() as api:
        assert (await create(api))["state"] == "submitted"
    others.say(ValidatePlacement, Placeable())
    others.say(messages.ValidateConfig, messages.Accepted())


async def test_the_trace_of_the_request_goes_on_over_the_bus(
    settings: Callable[[str], dict[str, str]], gateway: Gateway, others: Others, tmp_path: Path
) -> None:
    """The caller's own trace id is not taken over: whoever calls does not choose ours."""
    traces = {"MUSTER_TELEMETRY__DIRECTORY": str(tmp_path / "traces")}
    traced = await start_replica(gateway, settings("gateway") | traces, tmp_path)
    theirs = "ab" * 16
    async with traced.client() as api:
        api.headers["traceparent"] = f"00-{theirs}-{'cd' * 8}-01"
        made = await create(api)
        refused = (await api.get("/v1/experiments/999999")).json()
    assert len(made["trace_id"]) == 32 and made["trace_id"] != theirs
    assert len(refused["trace_id"]) == 32 and refused["trace_id"] != made["trace_id"]
    subject = messages.SubmissionCommitted.subject(DEFAULT_TENANT)

    async def carried() -> bool:
        found = await others.buses["admin"].jetstream.get_last_msg("EVT", subject)
        return made["trace_id"] in (found.headers or {}).get("traceparent", "")

    await eventually(carried)
    await stop_gateway(traced)
    written = "".join(path.read_text() for path in (tmp_path / "traces").iterdir())
    assert made["trace_id"] in written and traced.admin_token not in written


async def test_a_tenant_whose_creates_wait_keeps_nobody_else_from_creating(
    gateway: Gateway, api: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    system_url = postgres.urls["gateway"].system
    _, token = await make_tenant(system_url, gateway.directory, "calm")
    before = (await create(api))["number"]
    holder = await asyncpg.connect(system_url)
    async with gateway.client(token) as calm:
        async with holder.transaction():
            await holder.execute("SELECT FROM gateway.counter WHERE tenant = $1 FOR UPDATE", DEFAULT_TENANT)
            waiting = [asyncio.create_task(create(api)) for _ in range(12)]
            await eventually(lambda: _are_waiting(holder))
            async with asyncio.timeout(10):
                assert (await create(calm))["number"] == 1
            assert not any(one.done() for one in waiting)
        made = await asyncio.gather(*waiting)
    await holder.close()
    assert sorted(one["number"] for one in made) == list(range(before + 1, before + 13))


async def _are_waiting(connection: asyncpg.Connection) -> bool:
    """Whether two creates wait for what the connection holds."""
    return bool(await connection.fetchval("SELECT count(*) >= 2 FROM pg_locks WHERE NOT granted"))
