"""Models through the gateway, the registry standing in: what is ordered of it, and what is shown once it has answered."""

import asyncio
from math import inf
from typing import Any

import asyncpg
import httpx
import pytest

from shared.ids import DEFAULT_TENANT, derived_id
from shared.messages import experiments
from shared.messages.checkpoints import CheckpointPage, CheckpointView, ListCheckpoints
from shared.messages.files import FileEntry
from shared.messages.lineage import GetLineageGraph, LineageEdge, LineageGraph, LineageNode
from shared.messages.models import (
    DeleteVersion,
    EditModel,
    ModelChanged,
    RecordConsumer,
    SetAlias,
    SetStage,
    VersionChanged,
)
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import NOW, Seeded, add_token, seed
from tests.integration.gateway.test_experiments import next_command
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


@pytest.fixture
async def seeded(gateway: Gateway, others: Others) -> Seeded:
    async with gateway.client() as api:
        return await seed(api, others)


def name_of(seeded: Seeded) -> str:
    return f"model-{seeded.experiment['number']}"


def model_changed(seeded: Seeded, version: int, **more: Any) -> ModelChanged:
    plain = {
        "model_id": seeded.model,
        "version": version,
        "name": name_of(seeded),
        "description": "",
        "metadata": {},
    }
    return ModelChanged.model_validate(plain | {"versions": 1, "created_at": NOW, "by": "admin"} | more)  # fmt: skip


def version_changed(seeded: Seeded, version: int, number: int = 1, **more: Any) -> VersionChanged:
    ids = {"experiment_id": seeded.experiment["id"], "trial_id": seeded.trial, "run_id": seeded.run}
    made = {
        "checkpoint_id": seeded.checkpoint,
        "step": 5,
        "code_hash": None,
        "hyperparameters": {"opt": {"lr": 0.1 / number}},
    }
    plain = {
        "version_id": seeded.version if number == 1 else derived_id(seeded.version, number),
        "model_id": seeded.model, "model_name": name_of(seeded), "version": version, "number": number,
        "checkpoint_id": seeded.checkpoint, "name": "", "comment": "", "metadata": {}, "files": 1, "size_bytes": 3,
        "lineage": {**ids, **made, "metrics": {"loss": 0.3 / number, "worst": inf}}, "created_at": NOW, "by": "admin",
    }  # fmt: skip
    return VersionChanged.model_validate(plain | more)


async def test_a_change_is_shown_once_the_registry_has_made_it(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path = f"/v1/models/{seeded.model}"
    asking = asyncio.create_task(
        api.patch(path, json={"notes": "# Good", "add_tags": ["a"], "approvals": {"production": 1}})
    )
    command = await next_command(others, EditModel)
    assert isinstance(command, EditModel)
    assert (command.notes, command.add_tags, command.approvals) == ("# Good", ("a",), {"production": 1})
    told = model_changed(
        seeded, 5, notes="# Good", workspace="vision", tags=["a"], operation_id=command.operation_id
    )
    await others.announce("registry", DEFAULT_TENANT, told)
    answer = await asking
    assert answer.status_code == 200, answer.text
    assert (answer.json()["notes"], answer.json()["tags"]) == ("# Good", ["a"])
    assert (await api.get(f"/v1/models/vision%2F{name_of(seeded)}")).json()["id"] == str(seeded.model)
    assert (await api.get(f"/v1/models/speech%2F{name_of(seeded)}")).status_code == 404
    listed = (await api.get("/v1/models", params={"workspace": "vision", "tag": "a"})).json()["items"]
    assert [one["id"] for one in listed] == [str(seeded.model)]

    twin = model_changed(seeded, 1, workspace="speech", model_id=derived_id(seeded.model, "twin"))
    await others.announce("registry", DEFAULT_TENANT, twin)

    async def is_ambiguous() -> bool:
        return (await api.get(f"/v1/models/{name_of(seeded)}")).status_code == 409

    await eventually(is_ambiguous)
    said = (await api.get(f"/v1/models/{name_of(seeded)}")).json()
    assert said["code"] == "model_ambiguous" and f"speech/{name_of(seeded)}" in said["detail"]


async def test_a_change_is_shown_though_another_came_right_behind_it(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path = f"/v1/models/{seeded.model}/versions/1/uses"
    asking = asyncio.create_task(api.post(path, json={"kind": "inference", "reference": "a"}))
    command = await next_command(others, RecordConsumer)
    mine = version_changed(seeded, 7, operation_id=command.operation_id)
    anothers = version_changed(seeded, 8, comment="newer", operation_id=derived_id(seeded.version, "b"))
    await others.announce("registry", DEFAULT_TENANT, mine, anothers)
    answer = await asking
    assert answer.status_code == 200, answer.text
    assert answer.json()["comment"] in ("", "newer")  # as it was looked at before the other came, or after


async def test_a_request_sent_again_under_its_key_orders_nothing_and_has_the_same_answer(
    gateway: Gateway, postgres: TestDatabase, api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path, key = f"/v1/models/{seeded.model}/versions/1", {"Idempotency-Key": f"delete-{seeded.version}"}
    why = {"reason": "wrong data"}
    asking = [asyncio.create_task(api.delete(path, params=why, headers=key)) for _ in range(2)]
    command = await next_command(others, DeleteVersion)
    gone = version_changed(
        seeded, 7, deleted_at=NOW, deleted_reason="wrong data", operation_id=command.operation_id
    )
    await others.announce("registry", DEFAULT_TENANT, gone)
    first, second = await asyncio.gather(*asking)
    assert first.status_code == 200 and first.json()["version"] == 7, first.text
    again = await api.delete(path, params=why, headers=key)
    assert second.json() == again.json() == first.json()
    # Without the key it is another request, and the version is gone.
    assert (await api.delete(path, params=why)).status_code == 404
    editor = await add_token(postgres.urls["gateway"].system, gateway.directory, DEFAULT_TENANT, "editor")
    async with gateway.client(editor) as other:
        answer = await other.delete(path, params=why, headers=key)
    assert answer.status_code == 409 and answer.json()["code"] == "idempotency_key_reused"


async def test_a_command_on_its_way_is_not_ordered_again_where_the_wait_for_it_broke_off(
    postgres: TestDatabase, api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path, key = f"/v1/models/{seeded.model}", {"Idempotency-Key": f"edit-{seeded.model}"}

    def ask() -> asyncio.Task[httpx.Response]:
        return asyncio.create_task(api.patch(path, json={"notes": "once"}, headers=key))

    holder = await asyncpg.connect(postgres.urls["gateway"].owner)
    administrator = await asyncpg.connect(postgres.administrator_url)

    async def is_torn() -> bool:
        """The connection of who looks for what the command made is gone."""
        waiting = "datname = $1 AND wait_event_type = 'Lock'"
        return bool(
            await administrator.fetch(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {waiting}", postgres.name
            )
        )

    try:
        async with holder.transaction():
            await holder.execute("LOCK TABLE gateway.event")
            asking = ask()
            await eventually(is_torn)
    finally:
        await holder.close()
        await administrator.close()
    broken = await asking
    assert broken.status_code == 503, broken.text

    async def is_ordered() -> bool:
        command = await next_command(others, EditModel)
        return isinstance(command, EditModel) and command.model_id == seeded.model

    await eventually(is_ordered)
    command = await next_command(others, EditModel)
    again = ask()
    told = model_changed(seeded, 5, notes="once", operation_id=command.operation_id)
    await others.announce("registry", DEFAULT_TENANT, told)
    answer = await again
    assert answer.status_code == 200, answer.text
    assert answer.json()["notes"] == "once"


async def test_only_who_may_approve_changes_how_many_must(
    gateway: Gateway, postgres: TestDatabase, seeded: Seeded
) -> None:
    editor = await add_token(postgres.urls["gateway"].system, gateway.directory, DEFAULT_TENANT, "editor")
    async with gateway.client(editor) as api:
        answer = await api.patch(f"/v1/models/{seeded.model}", json={"approvals": {"production": 0}})
    assert answer.status_code == 403 and "model.approve" in answer.json()["detail"]


async def test_what_the_registry_refuses_is_a_conflict_with_its_reason_and_may_be_asked_again(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path, key = f"/v1/models/{seeded.model}/versions/champion/stage", {"Idempotency-Key": f"{seeded.version}"}
    asking = asyncio.create_task(api.post(path, json={"stage": "production"}, headers=key))
    refused = await next_command(others, SetStage)
    assert isinstance(refused, SetStage)
    assert (refused.version_id, refused.stage) == (seeded.version, "production")
    refusal = experiments.OperationRefused(
        operation_id=refused.operation_id, code="stage_unreachable", message="not from here"
    )
    await others.announce("registry", DEFAULT_TENANT, refusal)
    answer = await asking
    assert answer.status_code == 409 and answer.json()["code"] == "stage_unreachable"

    asking = asyncio.create_task(api.post(path, json={"stage": "production"}, headers=key))
    command = await next_command(others, SetStage, after=refused)
    told = version_changed(seeded, 7, stage="production", operation_id=command.operation_id)
    await others.announce("registry", DEFAULT_TENANT, told)
    assert (await asking).json()["stage"] == "production"


async def test_an_alias_is_moved_by_the_versions_own_names(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    path = f"/v1/models/{seeded.model}/aliases/best"
    asking = asyncio.create_task(api.put(path, json={"version": "latest"}))
    command = await next_command(others, SetAlias)
    assert isinstance(command, SetAlias)
    assert (command.alias, command.number) == ("best", 1)
    await others.announce(
        "registry",
        DEFAULT_TENANT,
        model_changed(seeded, 6, aliases={"best": 1}, operation_id=command.operation_id),
    )
    assert (await asking).json()["aliases"] == {"best": 1}


async def test_a_deleted_version_is_found_by_nobody_and_two_are_compared(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    second = version_changed(seeded, 1, number=2)
    await others.announce("registry", DEFAULT_TENANT, version_changed(seeded, 2), second)
    path = f"/v1/models/{seeded.model}/versions/2"

    async def status_is(wanted: int) -> bool:
        return (await api.get(path)).status_code == wanted

    await eventually(lambda: status_is(200))
    assert (await api.get(path)).json()["lineage"]["not_finite"] == {"worst": "infinity"}
    file = FileEntry(path="model.pt", size_bytes=3, sha256="a" * 64)
    view = CheckpointView.model_validate(
        {
            "checkpoint_id": seeded.checkpoint, "trial_id": seeded.trial, "experiment_id": seeded.experiment["id"],
            "run_number": 1, "number": 1, "step": 5, "state": "saved", "size_bytes": 3, "files": (file,),
            "created_at": NOW,
        }
    )  # fmt: skip
    others.say(ListCheckpoints, CheckpointPage(checkpoints=(view,)))
    compared = await api.get(f"/v1/models/{seeded.model}/compare", params={"base": "1", "other": "latest"})
    assert [
        (one["what"], one["name"], one["base"], one["other"]) for one in compared.json()["differences"]
    ] == [
        ("metric", "loss", 0.3, 0.15),
        ("hyperparameter", "opt.lr", 0.1, 0.05),
    ]
    await others.announce("registry", DEFAULT_TENANT, version_changed(seeded, 2, number=2, deleted_at=NOW))
    await eventually(lambda: status_is(404))
    assert len((await api.get(f"/v1/models/{seeded.model}/versions")).json()["items"]) == 1


async def test_lineage_begins_where_people_say(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    asked: list[GetLineageGraph] = []

    async def answer(ask: Any, query: GetLineageGraph) -> LineageGraph:
        asked.append(query)
        start, code = (
            LineageNode(id="x:1", kind=query.kind, name="1"),
            LineageNode(id="code:k", kind="code", name="k"),
        )
        return LineageGraph(
            start="x:1", nodes=(start, code), edges=(LineageEdge(source="code:k", target="x:1", kind="ran"),)
        )

    others.answers[GetLineageGraph] = answer
    number = seeded.experiment["number"]
    wanted = {
        ("experiment", str(number)): seeded.experiment["id"],
        ("trial", f"{number}.1"): str(seeded.trial),
        ("version", f"{name_of(seeded)}@champion"): str(seeded.version),
        ("version", str(seeded.version)): str(seeded.version),
        ("dataset", "digits@3#ab"): "digits@3#ab",
    }
    for (kind, reference), place in wanted.items():
        found = await api.get("/v1/lineage", params={"kind": kind, "id": reference})
        assert found.status_code == 200, found.text
        assert (asked[-1].kind, asked[-1].id) == (kind, place)
        assert found.json()["edges"] == [{"source": "code:k", "target": "x:1", "kind": "ran"}]
    assert (await api.get("/v1/lineage", params={"kind": "model", "id": "x"})).status_code == 400
