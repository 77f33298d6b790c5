"""`muster usage` as a person meets it: periods as people say them, a table, JSON, CSV."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from muster.cli.cluster.usage import moment_of
from muster.errors import Rejected
from tests.unit.sdk.shell import Shell

USAGE = {
    "since": "2026-11-01T00:00:00Z", "until": "2026-12-01T00:00:00Z", "by": ["workspace", "user"], "slot_seconds": 7300.0,
    "items": [
        {"workspace": "speech", "user": "grace", "slot_seconds": 100.0},
        {"workspace": "vision", "user": "", "slot_seconds": 7200.0},
    ],
}  # fmt: skip


def test_the_largest_stands_first_with_hours_and_share(shell: Shell) -> None:
    shell.answers["GET /v1/usage"] = httpx.Response(200, json=USAGE)
    shown = shell(
        "usage", "--by", "workspace", "--by", "user", "--since", "2026-11-01", "--until", "2026-12-01T00:00"
    )
    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[0] == ["workspace", "user", "slot-seconds", "slot-hours", "share"]
    assert lines[1] == ["vision", "–", "7,200", "2.00", "99%"]
    asked = dict(shell.requests[-1].url.params.multi_items())
    assert (asked["since"], asked["until"]) == ("2026-11-01T00:00:00+00:00", "2026-12-01T00:00:00+00:00")
    assert "7,300 slot-seconds from 2026-11-01 00:00:00" in shown.err
    assert json.loads(shell("usage", "--json").out)["slot_seconds"] == 7300.0


def test_what_has_a_price_is_told_with_its_cost(shell: Shell) -> None:
    priced = [row | {"cost": cost} for row, cost in zip(USAGE["items"], (0.5, 36.0), strict=True)]  # type: ignore[call-overload]
    told = USAGE | {"items": priced, "cost": 36.5, "unpriced_slot_seconds": 100.0}
    shell.answers["GET /v1/usage"] = httpx.Response(200, json=told)
    shown = shell("usage", "--by", "workspace", "--by", "user")
    lines = [line.split() for line in shown.out.splitlines()]
    assert (lines[0][-1], lines[1][-1]) == ("cost", "36.00")
    assert "total cost 36.50" in shown.err and "100 slot-seconds had no known price" in shown.err


def test_days_stand_in_their_order_and_are_asked_for(shell: Shell) -> None:
    days = [
        {"day": "2026-11-02", "workspace": "vision", "slot_seconds": 10.0},
        {"day": "2026-11-01", "workspace": "speech", "slot_seconds": 1.0},
        {"day": "2026-11-02", "workspace": "speech", "slot_seconds": 90.0},
    ]
    told = USAGE | {"by": ["day", "workspace"], "items": days, "slot_seconds": 101.0}
    shell.answers["GET /v1/usage"] = httpx.Response(200, json=told)
    shown = shell("usage", "--by", "day", "--by", "workspace", "--days", "7")
    assert [line.split()[:2] for line in shown.out.splitlines()[1:]] == [
        ["2026-11-01", "speech"],
        ["2026-11-02", "speech"],
        ["2026-11-02", "vision"],
    ]
    assert shell.requests[-1].url.params["days"] == "7"


def test_csv_is_what_the_platform_gives(shell: Shell) -> None:
    shell.answers["GET /v1/usage"] = httpx.Response(200, text="workspace,slot_seconds\nvision,7200.0\n")
    assert shell("usage", "--csv").out == "workspace,slot_seconds\nvision,7200.0\n"
    assert shell.requests[-1].headers["accept"] == "text/csv"


def test_a_moment_may_be_how_long_ago() -> None:
    ago = datetime.now(UTC) - moment_of("36h", "--since")  # type: ignore[operator]
    assert abs(ago - timedelta(hours=36)) < timedelta(seconds=5)
    assert moment_of(None, "--since") is None


@pytest.mark.parametrize("given", ["soon", "7y", "2026-13-01", ""])
def test_what_is_no_moment_is_refused_with_what_would_be(given: str) -> None:
    with pytest.raises(Rejected) as refused:
        moment_of(given, "--since")
    assert refused.value.place == "--since" and "7d" in (refused.value.hint or "")


def test_what_is_refused_is_said_to_be_at_the_option_that_was_typed(shell: Shell) -> None:
    def refused(place: str) -> httpx.Response:
        told = {
            "type": "urn:muster:error:rejected",
            "code": "forbidden",
            "detail": "not that",
            "place": place,
        }
        return httpx.Response(403, json=told, headers={"content-type": "application/problem+json"})

    shell.answers["GET /v1/usage"] = refused("by")
    assert "not that, at --by" in shell("usage", "--by", "user").err
    assert json.loads(shell("usage", "--by", "user", "--json").err)["place"] == "--by"
    assert "not that, at by" in shell("usage").err, "nobody typed it"
    shell.answers["POST /v1/webhooks"] = refused("events[1]")
    assert "at --event" in shell("webhook", "create", "ci", "https://a.example", "--event", "x").err
