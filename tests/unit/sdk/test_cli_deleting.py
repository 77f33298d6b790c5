"""What the command line asks before it deletes, and what it says then."""

import io
import sys

import httpx
import pytest

from tests.unit.sdk.shell import ID, Shell

DELETION = {
    "id": ID,
    "scope": "experiment",
    "name": "31",
    "state": "done",
    "stage": "done",
    "created_at": "2026-11-22T12:00:00Z",
}


def test_what_cannot_be_undone_is_asked_for_twice(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.answers["DELETE /v1/experiments/31"] = httpx.Response(200, json=DELETION)
    monkeypatch.setattr(sys, "stdin", io.StringIO("32\n"))
    ended = shell("experiment", "delete", "31")
    assert ended.code == 3 and "nothing was deleted: you typed '32', not '31'" in ended.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ended = shell("experiment", "delete", "31")
    assert ended.code == 3 and "--yes" in ended.err
    assert not [request for request in shell.requests if request.method == "DELETE"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("31\n"))
    ended = shell("experiment", "delete", "31", "--force")
    assert ended.code == 0 and ended.err.endswith("experiment 31 is deleted\n")
    assert shell.requests[-1].url.params["force"] == "true"
    for noun, name in (("workspace", "old"), ("tenant", "globex")):
        shell.answers[f"DELETE /v1/{noun}s/{name}"] = httpx.Response(
            200, json={**DELETION, "scope": noun, "name": name}
        )
        assert shell(noun, "delete", name, "--yes").err == f"{noun} {name} is deleted\n"
