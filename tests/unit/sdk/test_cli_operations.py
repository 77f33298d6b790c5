"""`muster operation`, and commands that take longer than a request waits."""

import httpx

from tests.unit.sdk.shell import EXPERIMENT, Shell

ID = "0190a000-0000-7000-8000-000000000001"
ACCEPTED = {"Location": f"/v1/operations/{ID}", "Preference-Applied": "respond-async"}
RUNNING = {
    "id": ID, "operation": "PauseExperiment", "state": "running", "created_at": "2026-12-01T08:00:00Z",
}  # fmt: skip
REFUSED = RUNNING | {
    "state": "refused",
    "code": "experiment_ended",
    "message": "it is over",
    "hint": "fork it",
}


def test_operations_are_listed_and_shown(shell: Shell) -> None:
    shell.answers["GET /v1/operations"] = httpx.Response(200, json={"items": [RUNNING]})
    shell.answers[f"GET /v1/operations/{ID}"] = httpx.Response(200, json=REFUSED)
    assert "PauseExperiment" in shell("operation", "list").out
    shown = shell("operation", "show", ID).out
    assert "it is over" in shown and "fork it" in shown


def test_a_command_that_takes_long_is_waited_for(shell: Shell) -> None:
    accepted = httpx.Response(202, json=RUNNING, headers=ACCEPTED)
    shell.answers["POST /v1/experiments/31/pause"] = accepted
    done = RUNNING | {"state": "done", "result": EXPERIMENT | {"state": "paused"}}
    shell.answers[f"GET /v1/operations/{ID}"] = httpx.Response(200, json=done)
    assert "it is now paused" in shell("experiment", "pause", "31").err


def test_what_is_refused_later_is_refused_all_the_same(shell: Shell) -> None:
    accepted = httpx.Response(202, json=RUNNING, headers=ACCEPTED)
    shell.answers["POST /v1/experiments/31/pause"] = accepted
    shell.answers[f"GET /v1/operations/{ID}"] = httpx.Response(200, json=REFUSED)
    shown = shell("experiment", "pause", "31")
    assert shown.code == 3 and "it is over" in shown.err
