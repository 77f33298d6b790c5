"""`muster queue` as a person meets it: it lists by itself, and each change says how things stand now."""

import json

import httpx
import pytest

from tests.unit.sdk.shell import EXPERIMENT, ID, Shell

ENTRY = {
    "trial": ID, "trial_number": 2, "experiment": ID, "experiment_number": 31, "pool": "default", "priority": 42,
    "slots": 4, "state": "waiting", "position": 1, "code": "waiting_for_slots", "reason": "waiting for 4 slots",
    "since": "2026-01-01T00:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize("arguments", [("queue",), ("queue", "--pool", "default"), ("queue", "list")])
def test_the_queue_is_shown_with_its_reasons(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell.answers["GET /v1/queue"] = httpx.Response(200, json={"items": [ENTRY]})
    shown = shell(*arguments)
    assert shown.code == 0 and "31.2" in shown.out and "waiting for 4 slots" in shown.out
    assert json.loads(shell(*arguments, "--json").out)[0]["code"] == "waiting_for_slots"


def test_an_elastic_trial_shows_what_it_has_and_may_have(shell: Shell) -> None:
    elastic = ENTRY | {"state": "running", "min_slots": 2, "max_slots": 8}
    shell.answers["GET /v1/queue"] = httpx.Response(200, json={"items": [elastic]})
    assert "4 (2 to 8)" in shell("queue").out


def test_a_trial_that_shares_a_slot_shows_its_part(shell: Shell) -> None:
    shell.answers["GET /v1/queue"] = httpx.Response(
        200, json={"items": [ENTRY | {"slots": 1, "slot_fraction": 0.5}]}
    )
    assert "0.5" in shell("queue").out


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (("priority", "31", "7"), {"priority": 7}),
        (("weight", "31", "2.5"), {"weight": 2.5}),
        (("limit", "31", "8"), {"max_slots": 8}),
        (("limit", "31", "none"), {"no_max_slots": True}),
        (("trials", "31", "2"), {"max_trials": 2}),
        (("trials", "31", "none"), {"no_max_trials": True}),
        (("move", "31", "--pool", "big"), {"pool": "big"}),
    ],
)
def test_a_change_is_sent_and_what_stands_now_is_said(
    shell: Shell,
    arguments: tuple[str, ...],
    body: dict[str, object],
) -> None:
    stands = EXPERIMENT | {"priority": 7, "weight": 2.5, "max_slots": 8, "pool": "big"}
    shell.answers["PATCH /v1/experiments/31"] = httpx.Response(200, json=stands)
    shown = shell("queue", *arguments)
    assert shown.code == 0
    assert (
        shown.err.split() == "experiment 31 is in pool big with priority 7, weight 2.5, max_slots 8".split()
    )
    assert shell.sent("PATCH", "/v1/experiments/31") == body


def test_what_is_no_number_of_slots_is_refused_before_anything_is_sent(shell: Shell) -> None:
    shown = shell("queue", "limit", "31", "many")
    assert shown.code == 3 and "give a number above 0, or none" in shown.err
    assert shell.requests == []
