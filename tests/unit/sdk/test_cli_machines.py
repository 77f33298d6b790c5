"""`muster pool create`, `muster instance` and `muster cost` as who keeps the site meets them."""

from typing import Any

import httpx

from tests.unit.sdk.shell import ID, Shell

POOL: dict[str, Any] = {
    "name": "burst", "of_settings": False, "closing": False, "kinds": ["small"], "zones": ["a"], "order": "cheapest",
    "minimum": 0, "maximum": 4, "maximum_slots": None, "reserve_slots": 0, "spot_share": 0.5, "on_demand_slots": 1,
    "falls_back": True, "moves_runs": True, "batching_window_s": 0.0, "idle_timeout_s": 300.0, "join_timeout_s": 1200.0, "budget_per_month": 100.0, "labels": {},
    "instances": 2, "spent": 12.5, "fault": "spot small in a: quota, tried again at 12:00:30 UTC: quota: 0 of 8",
    "offers": [
        {
            "kind": "small", "provider": "aws", "zone": "a", "purchase": "spot", "slots": 1, "slot_kind": "cuda",
            "gpu": "T4", "price_per_hour": 0.3, "held": "quota: 0 of 8", "held_until": "2026-11-22T12:00:30Z",
        }
    ],
}  # fmt: skip
INSTANCE = {
    "id": ID, "pool": "burst", "worker": "w-1", "driver": "aws", "state": "ready", "slots": 1, "reason": None,
    "price_per_hour": 0.3, "launched_at": "2026-11-22T11:00:00Z", "ended_at": None,
    "kind": "small", "zone": "a", "purchase": "spot", "cost": 1.234,
}  # fmt: skip


def test_a_pool_is_made_of_what_is_given_and_shown(shell: Shell) -> None:
    shell.answers["POST /v1/machine-pools"] = httpx.Response(201, json=POOL)
    options = (
        "--kind",
        "small",
        "--zone",
        "a",
        "--maximum",
        "4",
        "--spot-share",
        "0.5",
        "--idle-timeout",
        "5m",
    )
    shown = shell("pool", "create", "burst", *options, "--budget", "100")
    sent = shell.sent("POST", "/v1/machine-pools")
    assert isinstance(sent, dict)
    assert sent.items() >= {
        "name": "burst", "kinds": ["small"], "zones": ["a"], "maximum": 4, "spot_share": 0.5, "idle_timeout_s": 300.0,
        "budget_per_month": 100.0,
    }.items()  # fmt: skip
    words = " ".join(shown.out.split())
    assert "machines 2 of 0 to 4" in words
    assert "spent 12.50 of 100.00 this month" in words
    assert words.count("quota: 0 of 8") == 1, "what holds an offer back is said once"


def test_a_pool_without_kind_or_maximum_is_not_asked_for(shell: Shell) -> None:
    ended = shell("pool", "create", "burst", "--kind", "small")
    assert ended.code == 3 and "--maximum" in ended.err and not shell.requests


def test_what_is_left_out_of_a_change_stays(shell: Shell) -> None:
    shell.answers["GET /v1/machine-pools/burst"] = httpx.Response(200, json=POOL)
    shell.answers["PUT /v1/machine-pools/burst"] = httpx.Response(200, json=POOL)
    assert shell("pool", "update", "burst", "--maximum", "9", "--budget", "none").code == 0
    sent = shell.sent("PUT", "/v1/machine-pools/burst")
    assert isinstance(sent, dict)
    assert (sent["maximum"], sent.get("budget_per_month"), sent["kinds"], sent["spot_share"]) == (
        9,
        None,
        ["small"],
        0.5,
    )
    assert shell("pool", "update", "burst", "--maximum-slots", "many").code == 3


def test_a_machine_is_ended_by_its_id_or_its_worker(shell: Shell) -> None:
    page = {"items": [INSTANCE], "next_cursor": None}
    shell.answers["GET /v1/instances"] = httpx.Response(200, json=page)
    shell.answers[f"POST /v1/instances/{ID}/terminate"] = httpx.Response(
        200, json=INSTANCE | {"state": "terminating"}
    )
    for name in (ID, "w-1"):
        assert "is being terminated" in shell("instance", "terminate", name).err
    listed = shell("instance", "list", "--pool", "burst").out
    assert all(words in listed for words in ("w-1", "spot small in a", "1.23"))
    assert shell("instance", "drain", "nobody").code == 4


def test_costs_are_summed(shell: Shell) -> None:
    row = {
        "day": "2026-11-22",
        "pool": "burst",
        "kind": "small",
        "purchase": "spot",
        "instances": 2,
        "hours": 3.5,
        "cost": 1.25,
    }
    shell.answers["GET /v1/machine-costs"] = httpx.Response(200, json={"items": [row, row | {"cost": 2.0}]})
    shown = shell("cost", "--since", "2026-11-20")
    assert "total 3.25" in shown.err
    assert shell.requests[-1].url.params["since"] == "2026-11-20"


def test_shares_of_the_cost_name_who_held_slots_and_what_stood_idle(shell: Shell) -> None:
    held = {"day": None, "pool": None, "tenant": "vision", "experiment": None, "slot_hours": 6.0, "cost": 3.0}
    idle = held | {"tenant": None, "idle": True, "slot_hours": 2.0, "cost": 1.0}
    whole = {"since": "2026-11-01", "until": "2026-11-22", "cost": 4.0}
    shell.answers["GET /v1/cost-shares"] = httpx.Response(
        200, json=whole | {"by": ["tenant"], "items": [idle, held]}
    )
    shown = shell("cost", "--by", "tenant", "--since", "2026-11-01")
    assert [line.split() for line in shown.out.splitlines()] == [
        ["tenant", "slot-hours", "share", "cost"],
        ["vision", "6", "75%", "3.00"],
        ["idle", "2", "25%", "1.00"],
    ]
    assert "total 4.00" in shown.err
    assert shell.requests[-1].url.params.get_list("by") == ["tenant"]
    by_pool = [one | {"tenant": None, "pool": "burst"} for one in (idle, held)]
    shell.answers["GET /v1/cost-shares"] = httpx.Response(
        200, json=whole | {"by": ["pool"], "items": by_pool}
    )
    assert [line.split()[:2] for line in shell("cost", "--by", "pool").out.splitlines()] == [
        ["pool", "slots"],
        ["burst", "held"],
        ["burst", "idle"],
    ]


def test_a_cost_is_by_what_the_option_names(shell: Shell) -> None:
    refused = shell("cost", "--by", "colour")
    assert refused.code == 2
    assert all(word in refused.err for word in ("--by", "colour", "day", "pool", "tenant", "experiment"))
