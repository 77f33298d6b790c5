"""`muster reservation` as who keeps the site meets it."""

from datetime import UTC, datetime

import httpx
import pytest

from muster.cli.cluster import reservations as reservation, usage
from muster.cli.cluster.reservations import ahead_of
from muster.errors import Rejected
from tests.unit.sdk.shell import Shell

BOOKED = {
    "id": "0190a000-0000-7000-8000-000000000001", "pool": "default", "tenant": "acme", "workspace": "vision",
    "slots": 8, "begins_at": "2026-12-01T08:00:00Z", "ends_at": "2026-12-02T08:00:00Z", "held_slots": 3,
}  # fmt: skip


def test_slots_are_booked_and_said_in_a_sentence(shell: Shell) -> None:
    shell.answers["POST /v1/reservations"] = httpx.Response(201, json=BOOKED)
    window = ("--from", "2026-12-01T08:00", "--until", "2026-12-02T10:00+02:00")
    shown = shell("reservation", "create", "--slots", "8", "--workspace", "vision", *window)
    said = "8 slots of pool default are reserved for workspace vision of tenant acme from 2026-12-01 08:00"
    assert said in " ".join(shown.err.split())
    assert shell.sent("POST", "/v1/reservations") == {
        "pool": "default", "slots": 8, "workspace": "vision",
        "begins_at": "2026-12-01T08:00:00+00:00", "ends_at": "2026-12-02T10:00:00+02:00",
    }  # fmt: skip


def test_bookings_are_listed_and_given_up(shell: Shell) -> None:
    shell.answers["GET /v1/reservations"] = httpx.Response(200, json={"items": [BOOKED]})
    assert "2026-12-01 08:00" in shell("reservation", "list").out
    shell.answers["GET /v1/reservations"] = httpx.Response(200, json={"items": []})
    assert "no reservations" in shell("reservation", "list").err
    shell.answers[f"DELETE /v1/reservations/{BOOKED['id']}"] = httpx.Response(200, json=BOOKED)
    assert "no longer reserved" in shell("reservation", "delete", str(BOOKED["id"])).err


def test_a_time_may_be_said_from_now_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservation, "now_ms", lambda: 0)
    assert ahead_of("+2h", "--until") == datetime(1970, 1, 1, 2, tzinfo=UTC)
    with pytest.raises(Rejected, match="not a time") as refused:
        ahead_of("soon", "--until")
    assert "+90m" in str(refused.value.hint) and "ago" not in str(refused.value.hint)
    with pytest.raises(Rejected, match="not a time") as refused:
        ahead_of("soon", "--until", since=datetime(2026, 1, 1, tzinfo=UTC))
    assert "after the start" in str(refused.value.hint)
    with pytest.raises(Rejected, match=r"write '\+2h'"):
        ahead_of("2h", "--until")


def test_the_length_of_a_window_counts_from_its_begin(shell: Shell) -> None:
    shell.answers["POST /v1/reservations"] = httpx.Response(201, json=BOOKED)
    shell("reservation", "create", "--slots", "8", "--from", "2026-12-01T08:00", "--until", "+2d")
    sent = shell.sent("POST", "/v1/reservations")
    assert sent["ends_at"] == "2026-12-03T08:00:00+00:00"


def test_a_window_may_begin_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "now_ms", lambda: 3_600_000)
    assert ahead_of("now", "--from") == datetime(1970, 1, 1, 1, tzinfo=UTC)


def test_one_slot_is_said_as_one(shell: Shell) -> None:
    one = BOOKED | {"slots": 1}
    shell.answers["POST /v1/reservations"] = httpx.Response(201, json=one)
    said = shell("reservation", "create", "--slots", "1", "--from", "now", "--until", "+2h").err
    assert "1 slot of pool default is reserved for workspace vision" in " ".join(said.split())
    shell.answers[f"DELETE /v1/reservations/{BOOKED['id']}"] = httpx.Response(200, json=one)
    said = shell("reservation", "delete", str(BOOKED["id"])).err
    assert "1 slot of pool default is no longer reserved" in " ".join(said.split())
