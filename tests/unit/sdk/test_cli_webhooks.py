"""`muster webhook` as who has events sent elsewhere meets it."""

import io

import httpx
import pytest

from tests.unit.sdk.shell import Shell

ID = "0190a000-0000-7000-8000-000000000001"
HOOK = {
    "id": ID, "name": "ci", "origin": "https://ci.example", "form": "cloudevents", "events": ["experiment.completed"],
    "labels": [], "workspace": "vision", "project": None, "enabled": True, "waiting": 0, "dead": 2,
    "previous_secret_until": None, "created_at": "2026-12-01T08:00:00Z", "by": "ann",
}  # fmt: skip
DELIVERY = {
    "id": ID, "type": "com.muster.webhook.tested", "event": ID, "state": "delivered", "attempts": 1, "is_test": True,
    "status": 204, "error": None, "created_at": "2026-12-01T08:00:00Z", "next_attempt_at": None, "ended_at": None,
}  # fmt: skip


def test_only_the_secret_is_printed_and_the_address_may_come_unseen(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.answers["POST /v1/webhooks"] = httpx.Response(201, json=HOOK | {"secret": "whsec_x"})
    monkeypatch.setattr("sys.stdin", io.StringIO("https://ci.example/token\n"))
    shown = shell("webhook", "create", "ci", "-", "--event", "experiment.completed", "-w", "vision")
    assert shown.out == "whsec_x\n"
    assert shell.sent("POST", "/v1/webhooks") == {
        "name": "ci",
        "url": "https://ci.example/token",
        "form": "cloudevents",
        "events": ["experiment.completed"],
        "labels": [],
        "workspace": "vision",
    }


def test_webhooks_are_listed_with_what_was_given_up(shell: Shell) -> None:
    shell.answers["GET /v1/webhooks"] = httpx.Response(200, json={"items": [HOOK]})
    listed = shell("webhook", "list").out
    assert (
        "https://ci.example" in listed and "workspace vision" in listed and "experiment.completed" in listed
    )


def test_a_test_says_what_came_of_it_and_fails_where_it_did_not_arrive(shell: Shell) -> None:
    shell.answers["POST /v1/webhooks/ci/test"] = httpx.Response(200, json=DELIVERY)
    assert shell("webhook", "test", "ci").err == "the test was delivered: status 204\n"
    failed = DELIVERY | {"state": "dead", "status": 500, "error": "status 500"}
    shell.answers["POST /v1/webhooks/ci/test"] = httpx.Response(200, json=failed)
    shown = shell("webhook", "test", "ci")
    assert (shown.code, shown.err) == (1, "the test was not delivered: status 500\n")


def test_one_delivery_or_all_dead_ones_are_sent_again(shell: Shell) -> None:
    shell.answers[f"POST /v1/webhooks/ci/deliveries/{ID}/replay"] = httpx.Response(200, json=DELIVERY)
    assert shell("webhook", "replay", "ci", ID).err == f"delivery {ID} is being sent again\n"
    shell.answers["POST /v1/webhooks/ci/deliveries/replay"] = httpx.Response(200, json={"deliveries": 2})
    assert shell("webhook", "replay", "ci", "--dead").err == "2 deliveries are being sent again\n"
    unclear = shell("webhook", "replay", "ci")
    assert unclear.code == 3 and "either a delivery or --dead" in unclear.err


def test_filters_are_lifted_and_a_secret_is_replaced(shell: Shell) -> None:
    shell.answers["PATCH /v1/webhooks/ci"] = httpx.Response(200, json=HOOK | {"enabled": False})
    assert "disabled" in shell("webhook", "edit", "ci", "--all-events", "--disable").out
    assert shell.sent("PATCH", "/v1/webhooks/ci") == {
        "lifted": ["events"],
        "enabled": False,
    }
    shell.answers["POST /v1/webhooks/ci/secret/rotate"] = httpx.Response(
        200, json=HOOK | {"secret": "whsec_y"}
    )
    assert shell("webhook", "rotate", "ci", "--overlap", "1").out == "whsec_y\n"
    assert shell.sent("POST", "/v1/webhooks/ci/secret/rotate") == {"overlap_s": 3600}
