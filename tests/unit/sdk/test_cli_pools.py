"""`muster pool` and `muster limit` as who keeps the site meets them: times as people say them, changes as they stand."""

import httpx
import pytest

from muster.cli.cluster.pools import seconds_of
from muster.errors import Rejected
from tests.unit.sdk.shell import Shell

RULES = {
    "order": "fair_share", "preemption": True, "elastic": False, "default_priority": 42, "ageing_s": None,
    "half_life_s": 86400.0, "min_run_s": 300.0, "max_preemptions": 3,
    "quantum_s": 600.0, "defragment": True, "topology": ["rack", "zone"], "placement": "spread",
}  # fmt: skip
POOL = {
    "name": "default", "workers": 2, "slots": 8, "used_slots": 6, "waiting_slots": 4, "max_slots": 16,
    "preemption": True, "exclusive": True, "rules": RULES,
}  # fmt: skip
LIMIT = {
    "pool": "default",
    "tenant": "acme",
    "workspace": "vision",
    "id": "0193a0b0-0000-7000-8000-000000000001",
    "guaranteed": 4,
    "maximum": 8,
    "weight": 2.0,
}


def test_a_pool_is_described_with_how_it_is_shared(shell: Shell) -> None:
    shell.answers["GET /v1/pools/default"] = httpx.Response(200, json=POOL)
    words = " ".join(shell("pool", "describe", "default").out.split())
    assert "slots 6 used of 8, at most 16" in words
    assert (
        "ageing none half-life 1 d minimum run 5 m preemptions at most 3 per trial quantum 10 m defragment yes"
        in words
    )
    assert "topology rack, zone placement spread" in words


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (("--order", "fair_share", "--half-life", "2h"), {"order": "fair_share", "half_life_s": 7200.0}),
        (("--no-preemption", "--ageing", "none"), {"preemption": False, "no_ageing": True}),
        (("--ageing", "90", "--min-run", "0"), {"ageing_s": 90.0, "min_run_s": 0.0}),
        (
            ("--topology", "rack, zone", "--placement", "spread"),
            {"topology": ["rack", "zone"], "placement": "spread"},
        ),
        (("--topology", "none"), {"no_topology": True}),
        (("--max-preemptions", "0"), {"max_preemptions": 0}),
        (("--quantum", "5m"), {"quantum_s": 300.0}),
        (("--quantum", "none", "--defragment"), {"no_quantum": True, "defragment": True}),
        (("--max-preemptions", "none", "--elastic"), {"no_max_preemptions": True, "elastic": True}),
    ],
)
def test_only_what_is_named_is_changed(
    shell: Shell,
    options: tuple[str, ...],
    body: dict[str, object],
) -> None:
    shell.answers["PATCH /v1/pools/default"] = httpx.Response(200, json=POOL)
    assert shell("pool", "set", "default", *options).code == 0
    assert shell.sent("PATCH", "/v1/pools/default") == body


def test_a_limit_is_set_and_said_in_a_sentence(shell: Shell) -> None:
    shell.answers["PUT /v1/limits"] = httpx.Response(200, json=LIMIT)
    shown = shell(
        "limit", "set", "--workspace", "vision", "--guaranteed", "4", "--maximum", "8", "--weight", "2"
    )
    said = "workspace vision of tenant acme may use at most 8 slots in pool default, 4 guaranteed, weight 2"
    assert " ".join(shown.err.split()) == said
    assert shell.sent("PUT", "/v1/limits") == {
        "pool": "default", "workspace": "vision", "guaranteed": 4, "maximum": 8, "weight": 2.0,
    }  # fmt: skip


def test_what_is_worth_saying_of_a_limit_is_said(shell: Shell) -> None:
    told = LIMIT | {"warnings": ["no experiment of this tenant is in the workspace 'visoin' yet"]}
    shell.answers["PUT /v1/limits"] = httpx.Response(200, json=told)
    assert "'visoin' yet" in shell("limit", "set", "--workspace", "visoin").err


def test_a_number_below_zero_is_an_argument_and_refused_by_who_knows(shell: Shell) -> None:
    shell("queue", "weight", "31", "-1")
    assert shell.sent("PATCH", "/v1/experiments/31") == {"weight": -1.0}
    mistyped = shell("queue", "weight", "31", "2", "--pool", "a")
    assert mistyped.code == 2 and "--pool" in mistyped.err


def test_limits_are_listed(shell: Shell) -> None:
    shell.answers["GET /v1/limits"] = httpx.Response(200, json={"items": [LIMIT]})
    assert "vision" in shell("limit", "list").out
    shell.answers["GET /v1/limits"] = httpx.Response(200, json={"items": []})
    assert "tenants may use all free slots" in shell("limit", "list").err


@pytest.mark.parametrize("given", ["", "soon", "5y", "-1"])
def test_what_is_no_duration_is_refused(given: str) -> None:
    with pytest.raises(Rejected, match="not a duration"):
        seconds_of(given, "--ageing")


def test_a_rule_of_retention_is_set_and_said_in_a_sentence(shell: Shell) -> None:
    rule = {
        "workspace": "vision",
        "metric_detail_days": 30,
        "metric_retention_days": None,
        "log_retention_days": 7,
        "warnings": ["w?"],
    }
    shell.answers["PUT /v1/retention"] = httpx.Response(200, json=rule)
    shell.answers["GET /v1/retention"] = httpx.Response(
        200, json={"items": [rule, {"metric_retention_days": 90}]}
    )
    ended = shell("retention", "set", "-w", "vision", "--detail-days", "30", "--log-days", "7")
    assert (
        ended.code == 0 and "w?" in ended.err and "vision: full detail 30 d, metrics -, logs 7 d" in ended.err
    )
    assert shell.sent("PUT", "/v1/retention") == {
        "workspace": "vision",
        "metric_detail_days": 30,
        "log_retention_days": 7,
    }
    rows = [line.split() for line in shell("retention", "list").out.splitlines()]
    assert rows[1:] == ["vision 30 d - 7 d".split(), "the whole tenant - 90 d -".split()]
    assert shell("retention", "set", "--metric-days", "0").code == 2
