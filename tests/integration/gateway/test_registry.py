"""Code, checkpoints, metrics and models through the gateway, the registry standing in."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT, CheckpointId, TrialId
from shared.messages import experiments, phases as messages
from shared.messages.checkpoints import (
    CheckpointRetention,
    CollectCheckpoints,
    Collected,
    CollectedCheckpoint,
    FileLinks,
    GetCheckpointFiles,
)
from shared.messages.files import (
    CodeFiles,
    CodeText,
    ConfirmUpload,
    FileEntry,
    FileLink,
    GetCodeFiles,
    GetCodeText,
    GetUploadUrl,
)
from shared.messages.media import (
    GetMedia,
    GetMediaNames,
    GetMediaPiece,
    MediaName,
    MediaNamePage,
    MediaPage,
    MediaView,
)
from shared.messages.metrics import CompareTrials, GetSeries, Series, SeriesPage, SeriesPages, SeriesPoint
from shared.messages.models import CreateModel, CreateVersion, ModelChanged
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import Seeded, seed
from tests.integration.gateway.storing import Store, serve_store
from tests.integration.gateway.test_bad_input import packed
from tests.integration.gateway.test_experiments import CONFIG, next_command
from tests.support.waiting import TIMEOUT_S

CODE = packed(**{"train.py": b"print('hello')\n"})
SHA256 = hashlib.sha256(CODE).hexdigest()


@pytest.fixture
async def store(others: Others) -> AsyncIterator[Store]:
    async with serve_store() as found:
        others.say(GetUploadUrl, found.target)
        others.say(ConfirmUpload, found.confirm)
        yield found


@pytest.fixture(scope="module")
async def seeded(gateway: Gateway, others: Others) -> Seeded:
    async with gateway.client() as api:
        return await seed(api, others)


async def test_code_is_stored_once_and_can_then_be_named(api: httpx.AsyncClient, store: Store) -> None:
    assert (await api.get(f"/v1/code/{SHA256}")).status_code == 404
    for _ in range(2):
        answer = await api.put(f"/v1/code/{SHA256}", content=CODE)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"sha256": SHA256, "size_bytes": len(CODE)}
    assert store.objects == {SHA256: CODE}
    assert (await api.head(f"/v1/code/{SHA256}")).status_code == 200
    store.known.clear()
    gone = await api.post("/v1/experiments", json={"config_yaml": CONFIG, "code_sha256": SHA256})
    assert gone.status_code == 422 and gone.json()["code"] == "code_unknown"
    assert (await api.put(f"/v1/code/{SHA256}", content=CODE)).status_code == 200
    made = await api.post("/v1/experiments", json={"config_yaml": CONFIG, "code_sha256": SHA256})
    assert made.status_code == 201 and made.json()["code_sha256"] == SHA256


async def test_the_code_of_an_experiment_is_listed_over_pages_and_read(
    api: httpx.AsyncClient, store: Store, others: Others
) -> None:
    assert (await api.put(f"/v1/code/{SHA256}", content=CODE)).status_code == 200
    made = (await api.post("/v1/experiments", json={"config_yaml": CONFIG, "code_sha256": SHA256})).json()
    file = FileEntry(path="<b>.py", size_bytes=3, sha256="0" * 64)
    pages = {0: CodeFiles(size_bytes=9, files=(file,), next=1), 1: CodeFiles(size_bytes=9, files=(file,))}
    others.say(GetCodeFiles, lambda ask, query: pages[query.first] if query.sha256 == SHA256 else None)
    path = f"/v1/experiments/{made['number']}/code"
    code = (await api.get(path)).json()
    assert (code["sha256"], code["size_bytes"], code["unpacked_bytes"]) == (SHA256, 9, 6)
    assert [one["path"] for one in code["files"]] == ["<b>.py", "<b>.py"]
    others.say(GetCodeText, lambda ask, query: CodeText(file=file, text=f"of {query.path}", is_cut=True))
    shown = (await api.get(f"{path}/file", params={"path": "<b>.py"})).json()
    assert (shown["text"], shown["is_cut"], shown["sha256"]) == ("of <b>.py", True, "0" * 64)
    assert (await api.get(f"{path}/file")).status_code == 400
    bare = (await api.post("/v1/experiments", json={"config_yaml": CONFIG})).json()
    missing = await api.get(f"/v1/experiments/{bare['number']}/code")
    assert missing.status_code == 404 and "was submitted without code" in missing.text


async def test_code_is_streamed_by_grpc(gateway: Gateway, store: Store) -> None:
    parts = [muster_pb2.PutCodeRequest(sha256=SHA256)]
    parts += [muster_pb2.PutCodeRequest(data=CODE[at : at + 50]) for at in range(0, len(CODE), 50)]
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        stored = await stub.PutCode(iter(parts), metadata=metadata, timeout=TIMEOUT_S)
    assert stored.size_bytes == len(CODE) and store.objects == {SHA256: CODE}


async def test_a_store_that_refuses_is_told(api: httpx.AsyncClient, store: Store) -> None:
    store.url = "http://127.0.0.1:9"
    answer = await api.put(f"/v1/code/{SHA256}", content=CODE)
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1


async def test_metrics_are_shown_with_what_json_cannot_say_as_null(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    points = tuple(
        SeriesPoint(step=step, time_ms=0, value=value) for step, value in ((1, 0.5), (2, float("nan")))
    )
    page = SeriesPage(
        trial_id=seeded.trial,
        series=(Series(group="validation", name="loss", count=2, points=points),),
    )
    others.say(GetSeries, page)
    others.say(CompareTrials, SeriesPages(trials=(page,)))
    found = (
        await api.get(f"/v1/trials/{seeded.experiment['number']}.1/metrics", params={"name": "loss"})
    ).json()
    assert [point["value"] for point in found["series"][0]["points"]] == [0.5, None]
    compared = (await api.get(f"/v1/experiments/{seeded.experiment['id']}/metrics")).json()
    assert compared["trials"][0] == found
    _, query = others.asked[-1]
    assert query.trials == (seeded.trial,)


async def test_a_model_is_created_versioned_and_downloaded(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    key = {"Idempotency-Key": "model-1"}
    asking = asyncio.create_task(
        api.post("/v1/models", json={"name": "digits", "metadata": {"a": 1}}, headers=key)
    )
    command = await next_command(others, CreateModel)
    assert isinstance(command, CreateModel) and command.by == "admin"
    changed = ModelChanged(
        model_id=command.model_id,
        version=1,
        name=command.name,
        description="",
        metadata=command.metadata,
        versions=0,
        created_at=datetime.now(UTC),
        by=command.by,
        operation_id=command.operation_id,
    )
    await others.announce("registry", DEFAULT_TENANT, changed)
    answer = await asking
    assert answer.status_code == 201 and answer.json()["metadata"] == {"a": 1}
    again = await api.post("/v1/models", json={"name": "digits", "metadata": {"a": 1}}, headers=key)
    assert again.status_code == 201 and again.json() == answer.json()
    taken = await api.post("/v1/models", json={"name": "digits"})
    assert taken.status_code == 409 and taken.json()["code"] == "model_exists"

    wish = {"checkpoint": str(seeded.checkpoint)}
    asking = asyncio.create_task(api.post("/v1/models/digits/versions", json=wish))
    command = await next_command(others, CreateVersion)
    refusal = experiments.OperationRefused(
        operation_id=command.operation_id, code="checkpoint_not_saved", message="it is being uploaded"
    )
    await others.announce("registry", DEFAULT_TENANT, refusal)
    refused = await asking
    assert refused.status_code == 409 and refused.json()["code"] == "checkpoint_not_saved"


async def test_versions_are_found_by_number_alias_and_latest(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    for reference in ("1", "champion", "latest"):
        found = await api.get(f"/v1/models/{seeded.model}/versions/{reference}")
        assert found.status_code == 200 and found.json()["id"] == str(seeded.version), reference
    for reference in ("2", "0", "best", "-1"):
        assert (await api.get(f"/v1/models/{seeded.model}/versions/{reference}")).status_code == 404
    file = FileLink(path="model.pt", size_bytes=3, sha256="0" * 64, url="http://store/x?signature")
    second = file.model_copy(update={"path": "moments.pt"})

    async def page(ask: Any, query: GetCheckpointFiles) -> FileLinks:
        of = {"checkpoint_id": seeded.checkpoint, "step": 5}
        return FileLinks(**of, files=(second,)) if query.first else FileLinks(**of, files=(file,), next=1)

    others.answers[GetCheckpointFiles] = page
    download = (await api.get(f"/v1/models/{seeded.model}/versions/1/files")).json()
    assert download["checkpoint"] == str(seeded.checkpoint)
    assert [one["path"] for one in download["files"]] == ["model.pt", "moments.pt"]


async def test_what_a_collection_takes_is_told_with_the_numbers_that_people_know(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    going = CollectedCheckpoint(
        checkpoint_id=CheckpointId(seeded.checkpoint), trial_id=TrialId(seeded.trial), step=5, size_bytes=3
    )
    unknown = going.model_copy(update={"trial_id": TrialId(UUID(int=7))})
    policy = CheckpointRetention(save_experiment_best=0, save_trial_best=1, save_trial_latest=1)
    collected = Collected(
        policy=policy, dry_run=True, count=2, size_bytes=6, freed_bytes=3, checkpoints=(going, unknown)
    )
    others.say(CollectCheckpoints, collected)
    path = f"/v1/experiments/{seeded.experiment['number']}/checkpoints/collect"
    told = (await api.post(path, json={"dry_run": True})).json()["checkpoints"]
    number = (await api.get(f"/v1/trials/{seeded.trial}")).json()["number"]
    assert [(one["trial"], one.get("trial_number")) for one in told] == [
        (str(seeded.trial), number),
        (str(UUID(int=7)), None),
    ]


def picture(url: str, content: bytes) -> MediaView:
    return MediaView(
        id="1.0", kind="image", group="training", name="samples", step=3, run_number=1, time_ms=0,
        content_type="image/png", size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest(),
        url=f"{url}/pack", offset=8, about={"caption": "one"},
    )  # fmt: skip


async def test_media_are_listed_with_where_their_bytes_are(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    view = picture("http://store", b"\x89PNG")
    others.say(GetMedia, lambda ask, query: MediaPage(media=(view,), next=None if query.after else "1.0"))
    name = MediaName(
        kind="image", group="training", name="samples", count=1, size_bytes=4, first_step=3, last_step=3
    )
    others.say(GetMediaNames, MediaNamePage(names=(name,)))
    path = f"/v1/trials/{seeded.experiment['number']}.1/media"
    first = (await api.get(path, params={"kind": "image", "first_step": 3})).json()
    assert first["items"][0] | {"time": ""} == view.model_dump(exclude={"run_number", "time_ms"}) | {
        "run": 1,
        "time": "",
    }
    query = others.asked[-1][1]
    assert (query.kinds, query.first_step, query.after) == (("image",), 3, None)
    cursor = {"kind": "image", "first_step": 3, "cursor": first["next_cursor"]}
    assert (await api.get(path, params=cursor)).json()["next_cursor"] is None
    assert (await api.get(f"{path}/names")).json()["items"] == [name.model_dump()]
    assert (await api.get(path, params={"kind": "sound"})).status_code == 400


async def test_a_piece_of_media_is_read_for_pages_that_ask_no_other_host(
    api: httpx.AsyncClient, others: Others, seeded: Seeded, store: Store
) -> None:
    view = picture(store.url, b"\x89PNG")
    others.say(GetMediaPiece, view)
    store.objects["pack"] = b"another,\x89PNG, another"
    path = f"/v1/trials/{seeded.experiment['number']}.1/media/1.0/content"
    told = (await api.get(path)).json()
    assert (told["content_type"], base64.b64decode(told["base64"])) == ("image/png", b"\x89PNG")
    others.say(GetMediaPiece, view.model_copy(update={"size_bytes": 4 * 1024 * 1024 + 1}))
    assert (await api.get(path)).json()["code"] == "media_too_large"
    others.say(GetMediaPiece, view.model_copy(update={"sha256": "a" * 64}))
    assert (await api.get(path)).status_code == 500
    del store.objects["pack"]
    others.say(GetMediaPiece, view)
    assert (await api.get(path)).status_code == 503


async def test_phases_join_what_the_scheduler_granted_with_what_the_workers_told(
    api: httpx.AsyncClient, others: Others, seeded: Seeded
) -> None:
    (run,) = (await api.get(f"/v1/trials/{seeded.trial}/runs")).json()["items"]
    granted = datetime.fromisoformat(run["granted_at"])
    at_ms = int(granted.timestamp() * 1000) + 2_000
    prepare = messages.PhaseRecord(kind="prepare", began_ms=at_ms, ended_ms=at_ms)
    image = "ghcr.io/team/train@sha256:1"
    pull = messages.PhaseRecord(kind="pull_image", began_ms=at_ms - 1_000, ended_ms=at_ms, image=image)
    told = messages.TrialPhases(
        trial_id=TrialId(seeded.trial), runs=(messages.RunPhases(run_number=1, phases=(prepare, pull)),)
    )
    others.say(messages.GetPhases, messages.PhasesByTrials(trials=(told,)))
    own = (await api.get(f"/v1/trials/{seeded.trial}/phases")).json()
    shown = {one["kind"]: (one["began_at"], one["ended_at"]) for one in own["phases"]}
    assert [datetime.fromisoformat(at) for at in shown["preparing"]] == [
        granted,
        datetime.fromtimestamp(at_ms / 1000, UTC),
    ]
    assert shown["starting"] == (shown["preparing"][1], None)
    assert {one["kind"]: one["image"] for one in own["phases"] if one["image"]} == {
        "making_environment": image
    }
    path = f"/v1/experiments/{seeded.experiment['number']}/phases"
    assert (await api.get(path)).json() == {"items": [own], "next_cursor": None}
