"""`muster operation`, and commands that take longer than a request waits."""

from pathlib import Path

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
    assert "state: paused" in shell("experiment", "pause", "31").err


def test_what_is_refused_later_is_refused_all_the_same(shell: Shell) -> None:
    accepted = httpx.Response(202, json=RUNNING, headers=ACCEPTED)
    shell.answers["POST /v1/experiments/31/pause"] = accepted
    shell.answers[f"GET /v1/operations/{ID}"] = httpx.Response(200, json=REFUSED)
    shown = shell("experiment", "pause", "31")
    assert shown.code == 3 and "it is over" in shown.err


WAITING = "stored; it waits for the message bus, which has accepted no messages since 14:02:11 UTC"


def test_a_command_that_waits_for_the_bus_says_so_and_is_not_waited_for_long(shell: Shell) -> None:
    waiting = RUNNING | {"waiting": WAITING}
    shell.answers["POST /v1/experiments/31/pause"] = httpx.Response(202, json=waiting, headers=ACCEPTED)
    shell.answers[f"GET /v1/operations/{ID}"] = httpx.Response(200, json=waiting)
    shown = shell("experiment", "pause", "31")
    assert shown.code == 6 and WAITING in shown.err and f"muster operation show {ID}" in shown.err
    assert len(shell.requests) <= 6
    assert WAITING in shell("operation", "show", ID).out


def test_a_created_experiment_that_waits_for_the_bus_says_so(shell: Shell, project: Path) -> None:
    submitted = EXPERIMENT | {"state": "submitted", "version": 0, "waiting": WAITING}
    shell.answers["POST /v1/experiments"] = httpx.Response(201, json=submitted)
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=submitted)
    made = shell("experiment", "create", str(project / "config.yaml"))
    assert made.code == 0 and WAITING in made.err
    assert WAITING in shell("experiment", "describe", "31").out


def test_health_shows_the_reason_and_ends_with_its_own_code(shell: Shell) -> None:
    check = {
        "service": "gateway",
        "name": "bus",
        "ok": False,
        "reason": "no leader",
        "since": "2026-12-01T08:00:00Z",
    }
    degraded = {
        "state": "degraded",
        "summary": "The message bus does not accept messages.",
        "checks": [check],
    }
    shell.answers["GET /v1/health/platform"] = httpx.Response(200, json=degraded)
    shown = shell("health")
    assert shown.code == 6 and "does not accept messages" in shown.err and "no leader" in shown.out
    shell.answers["GET /v1/health/platform"] = httpx.Response(200, json={"state": "ok"})
    assert shell("health").code == 0


def test_health_is_a_summary_and_lists_every_check_on_request(shell: Shell) -> None:
    passing = {"name": "database", "ok": True, "since": "2026-12-01T08:00:00Z"}
    checks = [passing | {"service": service} for service in ("gateway", "registry", "searcher")]
    healthy = {"state": "ok", "checks": [*checks, checks[0] | {"name": "bus"}], "warnings": ["an old Redis"]}
    shell.answers["GET /v1/health/platform"] = httpx.Response(200, json=healthy)
    shown = shell("health")
    assert (shown.code, shown.out) == (0, "")
    assert shown.err == "ok: all 4 checks of 3 services pass; `muster health -v` lists them\nan old Redis\n"
    assert shell("health", "-v").out.count("database") == 3
    failing = checks[1] | {"ok": False, "reason": "no answer"}
    degraded = {
        "state": "degraded",
        "summary": "Degraded services: registry.",
        "checks": [checks[0], failing],
    }
    shell.answers["GET /v1/health/platform"] = httpx.Response(200, json=degraded)
    shown = shell("health")
    assert shown.code == 6 and "no answer" in shown.out and "gateway" not in shown.out
