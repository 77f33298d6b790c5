"""`muster experiment act` and `label`: many at once, and never unseen."""

import json

import httpx
import pytest

from tests.unit.sdk.shell import EXPERIMENT, ID, Shell

PATH = "/v1/bulk/experiments"
SEEN = {"count": 12, "sample": [EXPERIMENT], "selection": "word", "expires_at": "2026-11-22T12:00:00Z"}
ITEM = {"experiment": ID, "number": 31}


def test_what_a_filter_meets_is_shown_and_asked_about(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: asked.append(text))
    shell.answers[f"GET {PATH}"] = httpx.Response(200, json=SEEN)
    shell.answers[f"POST {PATH}"] = httpx.Response(200, json={"items": [ITEM | {"state": "done"}]})
    ended = shell("experiment", "act", "archive", "--filter", "owner = me")
    assert (ended.code, asked) == (0, ["archive 12 experiments?"])
    assert "digits" in ended.err and "and 11 more" in ended.err and "31  done    done" in ended.out
    assert shell.requests[0].url.params["filter"] == "owner = me"
    assert shell.sent("POST", PATH) == {"action": "archive", "selection": "word"}


@pytest.mark.parametrize(("action", "archived"), [("kill", "false"), ("unarchive", "true")])
def test_what_is_taken_out_of_the_archive_is_looked_for_there(
    shell: Shell, action: str, archived: str
) -> None:
    shell.answers[f"GET {PATH}"] = httpx.Response(200, json=SEEN)
    shell("experiment", "act", action, "--filter", "number > 0")
    assert shell.requests[0].url.params["archived"] == archived


def test_who_does_not_agree_changes_nothing(shell: Shell) -> None:
    shell.answers[f"GET {PATH}"] = httpx.Response(200, json=SEEN)
    assert shell("experiment", "act", "kill", "--filter", "number > 0").code != 0
    assert [request.method for request in shell.requests] == ["GET"]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "matches no experiment"), (900, "matches 900 experiments, more than")]
)
def test_nothing_and_too_many_are_said(shell: Shell, count: int, said: str) -> None:
    shell.answers[f"GET {PATH}"] = httpx.Response(200, json=SEEN | {"count": count, "selection": None})
    ended = shell("experiment", "act", "pause", "--filter", "number > 0", "--yes")
    assert ended.code == 1 and said in ended.err


def test_named_ones_are_told_of_and_a_refusal_is_exit_code_1(shell: Shell) -> None:
    refused = ITEM | {"state": "refused", "code": "experiment_ended", "message": "it has ended"}
    running = {"experiment": ID, "number": 32, "state": "running", "operation": ID}
    shell.answers[f"POST {PATH}"] = httpx.Response(200, json={"items": [refused, running]})
    ended = shell("experiment", "act", "pause", "31", "32")
    assert ended.code == 1 and "it has ended" in ended.out and f"muster operation show {ID}" in ended.out
    assert json.loads(shell.requests[-1].content) == {"action": "pause", "experiments": ["31", "32"]}


def test_either_names_or_a_filter_are_given(shell: Shell) -> None:
    for arguments in ((), ("31", "--filter", "number = 31")):
        ended = shell("experiment", "act", "pause", *arguments)
        assert ended.code == 2 and not shell.requests


def test_labels_are_changed_for_those_that_are_named(shell: Shell) -> None:
    shell.answers[f"POST {PATH}/labels"] = httpx.Response(
        200, json={"items": [EXPERIMENT | {"labels": ["new", "kept"]}]}
    )
    ended = shell("experiment", "label", "31", "--add", "new", "--remove", "old")
    assert ended.code == 0 and "new, kept" in ended.out
    assert shell.sent("POST", f"{PATH}/labels") == {"experiments": ["31"], "add": ["new"], "remove": ["old"]}
    assert shell("experiment", "label", "31").code == 2
