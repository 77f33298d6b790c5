"""`muster model`: what is said of versions, and what is sent for them."""

from pathlib import Path
from typing import Any

import httpx

from tests.unit.sdk.shell import ID, Shell

LINEAGE = {
    "experiment": ID, "trial": ID, "run": ID, "checkpoint": ID, "step": 10, "hyperparameters": {}, "metrics": {},
}  # fmt: skip


def model(**changes: Any) -> dict[str, Any]:
    plain = {
        "id": ID,
        "name": "digits",
        "workspace": "vision",
        "versions": 3,
        "owner": "ada",
        "created_at": "2026-01-01T00:00:00Z",
        "version": 4,
    }
    return plain | changes


def version(number: int = 3, **changes: Any) -> dict[str, Any]:
    plain = {
        "id": ID, "model": ID, "model_name": "digits", "number": number, "checkpoint": ID, "lineage": LINEAGE,
        "files": 1, "size_bytes": 3, "owner": "ada", "created_at": "2026-01-01T00:00:00Z", "version": 1,
    }  # fmt: skip
    return plain | changes


def test_an_alias_is_set_and_said(shell: Shell) -> None:
    shell.answers["PUT /v1/models/digits/aliases/champion"] = httpx.Response(
        200, json=model(aliases={"champion": 3})
    )
    ended = shell("model", "alias", "digits@3", "champion")
    assert ended.code == 0 and "digits@champion is version 3" in ended.out + ended.err
    assert shell.sent("PUT", "/v1/models/digits/aliases/champion") == {"version": "3"}


def test_a_stage_that_waits_says_for_whom(shell: Shell) -> None:
    pending = {"stage": "production", "by": "ada", "asked_at": "2026-01-01T00:00:00Z", "needed": 2}
    shell.answers["POST /v1/models/digits/versions/3/stage"] = httpx.Response(
        200, json=version(stage="staging", pending=pending)
    )
    ended = shell("model", "stage", "digits@3", "production", "--reason", "best")
    said = " ".join((ended.out + ended.err).split())
    assert ended.code == 0 and "needs 2 of 2 approvals" in said and "muster model approve digits@3" in said
    assert shell.sent("POST", "/v1/models/digits/versions/3/stage") == {
        "stage": "production",
        "reason": "best",
    }


def test_a_stage_that_is_none_is_refused_at_once(shell: Shell) -> None:
    ended = shell("model", "stage", "digits@3", "prod")
    assert ended.code == 2 and "production" in ended.err and not shell.requests


def test_differences_stand_side_by_side(shell: Shell) -> None:
    differences = [
        {"what": "metric", "name": "loss", "base": 0.5, "other": 0.25},
        {"what": "file", "name": "model.pt", "base": "a" * 64, "other": None},
    ]
    found = {"base": version(1), "other": version(2), "differences": differences}
    shell.answers["GET /v1/models/digits/compare"] = httpx.Response(200, json=found)
    said = shell("model", "compare", "digits", "1", "champion").out
    assert "digits@1" in said and "digits@2" in said and "0.25" in said and "aaaaaaaaaaaa…" in said


def test_a_version_is_described_with_its_making_and_how_it_came_to_its_stage(shell: Shell) -> None:
    made_of = {"hyperparameters": {"opt": {"lr": 0.1}}, "metrics": {"loss": 0.25}}
    data = {"datasets": [{"name": "digits", "version": "3"}], "code_sha256": "c" * 64}
    stage = {"stage": "production", "by": "ada", "at": "2026-01-02T00:00:00Z", "reason": "best so far"}
    shell.answers["GET /v1/models/digits/versions/champion"] = httpx.Response(
        200,
        json=version(
            lineage=LINEAGE | made_of | data,
            stage="production",
            stages=[stage | {"approvals": [{"by": "bob", "at": "2026-01-02T00:00:00Z"}]}],
            signature={"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 64]}]},
        ),
    )
    said = " ".join(shell("model", "describe", "digits@champion").out.split())
    for part in (
        "version digits@3",
        "production on 2026-01-02, requested by ada, bob approved: best so far",
        "inputs x float32[-1, 64]",
        "hparams opt.lr 0.1",
        "data digits@3",
        "c" * 64,
    ):
        assert part in said


def test_a_versions_words_are_edited_and_not_its_models(shell: Shell) -> None:
    shell.answers["PATCH /v1/models/digits/versions/3"] = httpx.Response(200, json=version())
    assert shell("model", "edit", "digits@3", "--comment", "good", "--tag", "a").code == 0
    sent = shell.sent("PATCH", "/v1/models/digits/versions/3")
    assert (sent["comment"], sent["add_tags"], sent.get("notes")) == ("good", ["a"], None)
    refused = shell("model", "edit", "digits@3", "--approvals", "production=1")
    assert refused.code == 3 and "--approvals does not apply to versions" in refused.err
    assert "--comment" in shell("model", "edit", "digits", "--comment", "x").err


def test_a_lineage_is_a_tree_with_its_start_marked(shell: Shell) -> None:
    nodes = [
        {"id": "version:v", "kind": "version", "name": "digits 3", "facts": {"stage": "staging"}},
        {"id": "checkpoint:c", "kind": "checkpoint", "name": "step 10", "facts": {"size_bytes": 2048}},
        {"id": "dataset:d", "kind": "dataset", "name": "digits", "facts": {"version": "3", "hash": None}},
        {"id": "code:k", "kind": "code", "name": "abc", "facts": {}},
    ]
    edges = [
        {"source": "checkpoint:c", "target": "version:v", "kind": "registered"},
        {"source": "dataset:d", "target": "checkpoint:c", "kind": "used"},
        {"source": "code:k", "target": "checkpoint:c", "kind": "ran"},
    ]
    graph = {"start": "version:v", "nodes": nodes, "edges": edges}
    shell.answers["GET /v1/lineage"] = httpx.Response(200, json=graph)
    ended = shell("model", "lineage", "digits@champion")
    assert ended.out.splitlines() == [
        "dataset digits  version 3",
        "  checkpoint step 10  size_bytes 2.0 KiB",
        "    version digits 3 ←  stage staging",
        "code abc",
        "  checkpoint step 10 (see above)",
    ]
    assert shell.requests[-1].url.params["id"] == "digits@champion"
    shell("model", "lineage", "dataset:digits@3")
    assert dict(shell.requests[-1].url.params) == {"kind": "dataset", "id": "digits@3"}


def test_mistakes_in_what_is_given_are_named(shell: Shell, tmp_path: Path) -> None:
    ended = shell("model", "create", "x", "--approvals", "production")
    assert ended.code == 2 or "production=1" in ended.err
    (tmp_path / "s.json").write_text("[]")
    ended = shell("model", "register", "x", ID, "--signature", str(tmp_path / "s.json"))
    assert ended.code == 3 and "inputs and outputs" in ended.err
    assert shell("model", "delete", "digits@3").code == 2, "it wants a reason"
    assert not shell.requests


def test_a_version_is_fetched_by_the_word_that_names_it_everywhere(shell: Shell, tmp_path: Path) -> None:
    for written in ("digits@champion", "digits"):
        shell("model", "download", written, str(tmp_path / written))
    assert [one.url.path for one in shell.requests] == [
        "/v1/models/digits/versions/champion/files",
        "/v1/models/digits/versions/latest/files",
    ]
