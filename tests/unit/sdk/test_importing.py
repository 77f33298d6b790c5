"""What Determined's REST API told becomes configs and models; what stays behind is named, and a second time nothing is done twice."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from minio.credentials.credentials import Credentials
from minio.signer import sign_v4_s3

from muster.config import load_config
from muster.errors import Rejected
from muster.importing import ObjectStore, plan_import, read_dumps
from tests.unit.sdk.shell import EXPERIMENT, ID, Shell

CONFIG: dict[str, Any] = {
    "name": "mnist lr", "entrypoint": "python3 train.py", "labels": ["vision"], "workspace": "", "project": "", "description": None,
    "bind_mounts": [], "scheduling_unit": 100, "debug": False, "min_validation_period": {"batches": 0},
    "environment": {"image": {"cpu": "determinedai/a", "cuda": "determinedai/b"}, "environment_variables": {"cpu": [], "cuda": [], "rocm": []}},
    "checkpoint_storage": {"type": "s3", "bucket": "ckpts", "prefix": "p", "save_trial_best": 1},
    "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "batch": {"type": "const", "val": 32}, "none": None},
    "searcher": {"name": "random", "metric": "loss", "smaller_is_better": True, "max_trials": 4, "max_concurrent_trials": 2},
    "resources": {"slots_per_trial": 1, "resource_pool": "", "devices": []},
}  # fmt: skip
TRIAL_CLASS = {**CONFIG, "name": "old", "entrypoint": "model_def:MnistTrial"}
MODEL = {"id": 3, "name": "mnist/prod", "description": "digits", "notes": "# Good", "labels": ["vision"], "metadata": {"team": "a"},
         "workspaceId": 2, "username": "ann", "numVersions": 2, "creationTime": "2024-05-01T00:00:00Z"}  # fmt: skip


def version(number: int, uuid: str, storage: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": MODEL, "version": number, "name": f"v{number}", "comment": "c", "notes": "n", "labels": ["x"], "metadata": {"k": number},
        "checkpoint": {
            "uuid": uuid, "state": "STATE_COMPLETED", "resources": {"code/": "0", "state_dict.pth": "1000", "metadata.json": "24"},
            "metadata": {"steps_completed": 100},
            "training": {"experimentId": 31, "trialId": 77, "experimentConfig": {"checkpoint_storage": storage}, "hparams": {"lr": 0.01},
                         "validationMetrics": {"avgMetrics": {"loss": 0.5}}},
        },
    }  # fmt: skip


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    folder = tmp_path / "dumps"
    folder.mkdir()
    versions = [
        version(2, "u2", {"type": "shared_fs", "host_path": "/x"}),
        version(1, "u1", CONFIG["checkpoint_storage"]),
    ]
    answers: dict[str, Any] = {
        "experiments.json": {
            "experiments": [{"id": 31, "workspaceName": "Vision", "projectName": "digits"}, {"id": 9}],
            "pagination": {},
        },
        "experiment-31.json": {"experiment": {"id": 31, "config": CONFIG}, "jobSummary": None},
        "experiment-32.json": {"experiment": {"id": 32, "originalConfig": json.dumps(TRIAL_CLASS)}},
        "models.json": {"models": [MODEL]},
        "versions.json": {"model": MODEL, "modelVersions": versions},
        "workspaces.json": {"workspaces": [{"id": 2, "name": "Vision"}]},
        "master.json": {"version": "0.38.1"},
    }
    for name, answer in answers.items():
        (folder / name).write_text(json.dumps(answer))
    return folder


def test_configs_become_files_that_are_read_without_warning(dumps: Path) -> None:
    plan = plan_import(read_dumps([dumps]))
    first, second = plan.configs
    assert (first.file, first.refusal) == ("experiment-31-mnist-lr.yaml", "")
    config = load_config(first.content)
    assert (config.workspace, config.project, config.labels, config.entrypoint) == (
        "Vision",
        "digits",
        ("vision",),
        "python3 train.py",
    )
    assert config.hyperparameters.keys() == {"lr", "batch", "none"}
    assert "image" not in first.content.split("entrypoint:")[1]
    assert "# environment.image: " in first.content
    assert second.file == "experiment-32-old.yaml"
    assert "trial class" in second.refusal and second.refusal.split(" (")[0] in second.content.replace(
        "\n# ", " "
    )
    assert (
        "experiment 9",
        "the dump lacks its config: also save GET /api/v1/experiments/{id}",
    ) in plan.skipped
    assert any(what.endswith("master.json") for what, _ in plan.skipped)


def test_a_model_has_its_versions_with_the_addresses_of_those_checkpoints_that_were_seen(dumps: Path) -> None:
    asked: list[tuple[str, str]] = []

    def is_there(bucket: str, key: str) -> bool:
        asked.append((bucket, key))
        return True

    plan = plan_import(read_dumps([dumps]), is_there)
    model = plan.models[0]
    assert (model.name, model.workspace, model.description, model.notes, model.tags) == (
        "mnist-prod",
        "Vision",
        "digits",
        "# Good",
        ("vision",),
    )
    assert model.metadata["team"] == "a"
    told: Any = model.metadata["determined"]
    assert (told["name"], told["id"], [one["version"] for one in told["versions"]]) == (
        "mnist/prod",
        3,
        [1, 2],
    )
    first, second = told["versions"]
    assert first["checkpoint"] == {"uuid": "u1", "address": "s3://ckpts/p/u1", "files": 3, "size_bytes": 1024,
                                   "metadata": {"steps_completed": 100}}  # fmt: skip
    assert (first["metrics"], first["hyperparameters"], first["experiment"], first["notes"]) == (
        {"loss": 0.5},
        {"lr": 0.01},
        31,
        "n",
    )
    assert "address" not in second["checkpoint"] or second["checkpoint"]["address"] is None
    assert asked == [("ckpts", "p/u1/metadata.json")]
    assert [what for what, why in plan.skipped if "S3" in why] == ["checkpoint of mnist/prod@2"]


def test_a_version_takes_the_model_beside_it_and_one_that_is_nobodys_is_named(tmp_path: Path) -> None:
    bare = {name: value for name, value in version(4, "u4", {}).items() if name != "model"}
    (tmp_path / "beside.json").write_text(json.dumps({"model": MODEL, "modelVersions": [bare]}))
    (tmp_path / "cut.json").write_text(json.dumps({"modelVersions": [bare | {"version": 5}]}))
    plan = plan_import(read_dumps([tmp_path]))
    (model,) = plan.models
    told: Any = model.metadata["determined"]
    assert [one["version"] for one in told["versions"]] == [4]
    why = dict(plan.skipped)[f"version 5 in {tmp_path / 'cut.json'}"]
    assert "does not name its model" in why


def test_without_an_address_or_where_the_file_is_missing_the_checkpoint_is_left_out(dumps: Path) -> None:
    for is_there, word in ((None, "--s3"), (lambda *_: False, "does not have p/u1/metadata.json")):
        plan = plan_import(read_dumps([dumps]), is_there)
        assert word in dict(plan.skipped)["checkpoint of mnist/prod@1"]
        told: Any = plan.models[0].metadata["determined"]
        assert told["versions"][0]["checkpoint"]["address"] is None


def test_metadata_that_is_too_large_keeps_the_newest_versions(tmp_path: Path) -> None:
    versions = [version(number, f"u{number}", {}) | {"notes": "n" * 5000} for number in range(1, 31)]
    (tmp_path / "v.json").write_text(json.dumps({"modelVersions": versions}))
    plan = plan_import(read_dumps([tmp_path]))
    model = plan.models[0]
    told: Any = model.metadata["determined"]
    assert len(json.dumps(model.metadata)) <= 60 * 1024
    assert told["versions"][-1]["version"] == 30
    lost = [what for what, why in plan.skipped if "KiB" in why]
    assert len(lost) + len(told["versions"]) == 30


def test_first_it_is_told_and_only_then_done_and_a_second_time_finds_it_there(
    shell: Shell, dumps: Path, tmp_path: Path
) -> None:
    to, code = tmp_path / "out", tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("")
    arguments = ("import", "determined", str(dumps), "--to", str(to), "--submit", str(code))
    told = shell(*arguments)
    assert told.code == 0 and "this is the plan" in told.err and "model mnist-prod" in told.out
    assert not to.exists() and shell.requests == []

    made: dict[str, Any] = {
        "id": ID,
        "name": "mnist-prod",
        "workspace": "Vision",
        "owner": "me",
        "created_at": "2026-01-01T00:00:00Z",
        "version": 1,
    }
    shell.answers["GET /v1/models"] = httpx.Response(200, json={"items": []})
    shell.answers["POST /v1/models"] = httpx.Response(201, json=made)
    shell.answers["GET /v1/experiments"] = httpx.Response(200, json={"items": []})
    shell.answers["POST /v1/experiments"] = httpx.Response(201, json=EXPERIMENT)
    code_path = "/v1/code/"
    shell.answers |= {
        f"GET {code_path}{sha}": httpx.Response(200, json={"sha256": sha, "size_bytes": 1})
        for sha in [_hash(code)]
    }
    done = shell(*arguments, "--apply")
    assert done.code == 0, done.err
    assert (to / "experiment-31-mnist-lr.yaml").exists()
    sent = shell.sent("POST", "/v1/models")
    assert (sent["name"], sent["workspace"], sent["tags"]) == ("mnist-prod", "Vision", ["vision"])
    assert [one.url.path for one in shell.requests if one.method == "POST"].count(
        "/v1/experiments"
    ) == 1  # 32 is refused
    assert shell.sent("POST", "/v1/experiments")["labels"] == ["determined-31"]

    shell.requests.clear()
    shell.answers["GET /v1/models"] = httpx.Response(
        200, json={"items": [made | {"metadata": sent["metadata"]}]}
    )
    shell.answers["GET /v1/experiments"] = httpx.Response(200, json={"items": [EXPERIMENT]})
    again = shell(*arguments, "--apply")
    assert [one.method for one in shell.requests if one.method not in ("GET", "PUT")] == []
    assert "already there" in again.out and "as experiment 31" in again.out

    shell.answers["GET /v1/models"] = httpx.Response(200, json={"items": [made]})
    other = shell(*arguments, "--apply", "--json")
    outcome = {one["what"]: one for one in json.loads(other.out)}["model mnist-prod"]
    assert outcome["outcome"] == "left out" and "already has another model with this name" in outcome["why"]


def _hash(code: Path) -> str:
    from muster.archive import pack

    return pack(code).sha256


def test_a_file_that_was_changed_by_hand_is_left_as_it_is(shell: Shell, dumps: Path, tmp_path: Path) -> None:
    to = tmp_path / "out"
    arguments = ("import", "determined", str(dumps), "--to", str(to), "--apply", "--files-only")
    shell(*arguments)
    file = to / "experiment-31-mnist-lr.yaml"
    file.write_text("mine")
    assert "delete it to write it again" in " ".join(shell(*arguments).out.split())
    assert file.read_text() == "mine"


def test_the_store_is_asked_with_the_signature_that_a_client_of_s3_sends() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response({"/b/p/there": 200, "/b/p/hidden": 403}.get(request.url.path, 404))

    http = httpx.Client(transport=httpx.MockTransport(answer))
    store = ObjectStore(
        "https://s3.example",
        "AKIA",
        "secret",
        "eu-central-1",
        now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
        http=http,
    )
    assert store.has("b", "p/there")
    assert not store.has("b", "p/missing")
    with pytest.raises(Rejected, match="refuses b/p/hidden"):
        store.has("b", "p/hidden")
    sent = seen[0].headers["authorization"]
    assert sent.startswith(
        "AWS4-HMAC-SHA256 Credential=AKIA/20260102/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
    )
    assert "secret" not in str(seen[0].headers)
    nothing = hashlib.sha256(b"").hexdigest()
    headers: dict[str, str | list[str] | tuple[str]] = {
        "Host": "s3.example",
        "x-amz-content-sha256": nothing,
        "x-amz-date": "20260102T000000Z",
    }
    url = urlsplit("https://s3.example/b/p/there")
    known = sign_v4_s3(
        method="HEAD", url=url, region="eu-central-1", headers=headers, credentials=Credentials("AKIA", "secret"), content_sha256=nothing,
        date=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    assert sent == known["Authorization"]
    with pytest.raises(Rejected, match="not the address of a store"):
        ObjectStore("s3.example").has("b", "k")


def test_what_is_no_dump_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="does not exist"):
        read_dumps([tmp_path / "missing"])
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(Rejected, match=r"x\.json is not JSON"):
        read_dumps([tmp_path])
