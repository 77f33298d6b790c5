"""What a machine joins with: as it is said, as it was kept, as the machine suggests."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.errors import Rejected
from shared.bus import AUTHENTICATION
from shared.messages.workers import Credentials
from shared.version import check_fits
from worker.connection import daemon_start
from worker.connection.daemon_start import start_detached, systemd_unit
from worker.connection.identity import is_good, load_identity
from worker.connection.join_command import JOIN_FILE, JoinOptions, JoinSettings, join_here, resolve
from worker.connection.platform_connection import CONNECTED

URL = "http://127.0.0.1:8080"
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
READY = "the process became ready"


class _Clock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def test_a_machine_suggests_its_name_and_its_address_on_the_way(tmp_path: Path) -> None:
    found = resolve(JoinOptions(url=f"{URL}/"), tmp_path)
    assert (found.url, found.pool, found.address) == (URL, "default", "127.0.0.1")
    assert found.id


def test_what_was_kept_counts_until_something_else_is_said(tmp_path: Path) -> None:
    before = resolve(JoinOptions(url=URL, id="rack-7", pool="big", labels="rack=r7", slots=2), tmp_path)
    (tmp_path / JOIN_FILE).write_text(before.model_dump_json())
    assert resolve(JoinOptions(), tmp_path) == before
    assert resolve(JoinOptions(labels="rack=r8"), tmp_path).labels == "rack=r8"
    environment = before.environment(tmp_path)
    assert environment["MUSTER_WORKER__SLOTS"] == "2" and "MUSTER_WORKER__USER" not in environment


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (JoinOptions(), "url_missing"),
        (JoinOptions(url="8080"), "url_missing"),
        (JoinOptions(url=URL, id="two words"), "bad_id"),
        (JoinOptions(url=URL, labels="rack"), "bad_labels"),
        (JoinOptions(url=URL, slots=5000), "bad_slots"),
    ],
)
def test_what_cannot_be_is_told_by_its_option(tmp_path: Path, given: JoinOptions, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        resolve(given, tmp_path)
    assert refused.value.code == code and (refused.value.place or "").startswith("--")


async def test_without_a_token_only_who_has_joined_before_goes_on(tmp_path: Path) -> None:
    joining = JoinSettings(url=URL, id="one", address="127.0.0.1")
    with pytest.raises(Rejected, match="has not joined yet"):
        await join_here(joining, None, tmp_path, _Clock())
    identity = load_identity(tmp_path / "identity")
    identity.keep(_credentials(NOW + timedelta(hours=3)))
    assert is_good(await join_here(joining, None, tmp_path, _Clock()), NOW)
    for name in (JOIN_FILE, "identity/seed", "identity/credentials.json"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    identity.keep(_credentials(NOW - timedelta(minutes=1)))
    with pytest.raises(Rejected, match="ran out at 2026-11-22 11:59"):
        await join_here(joining, None, tmp_path, _Clock())


async def test_a_bus_that_only_the_platforms_machine_reaches_is_told(tmp_path: Path) -> None:
    joining = JoinSettings(url="http://192.0.2.7:8080", id="one", address="192.0.2.8")
    (tmp_path / "identity").mkdir()
    load_identity(tmp_path / "identity").keep(_credentials(NOW + timedelta(hours=3)))
    with pytest.raises(Rejected, match="WORKER_NATS_URL") as refused:
        await join_here(joining, None, tmp_path, _Clock())
    assert refused.value.code == "bus_unreachable"


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (f"print({READY!r}); print({CONNECTED!r}); stay()", "it runs as process"),
        (f"print({READY!r}); stay()", "has not answered yet"),
        (f"print({READY!r}); print({AUTHENTICATION!r}); stay()", "its key was revoked"),
        ("print('no disk')", "the worker exited: no disk"),
    ],
)
def test_who_is_left_running_is_told_whether_the_platform_lets_it_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, told: str
) -> None:
    daemon = f"import time; stay = lambda: time.sleep(1); {does}"
    monkeypatch.setattr(daemon_start, "_command", lambda: [sys.executable, "-u", "-S", "-c", daemon])
    monkeypatch.setattr(daemon_start, "ANSWERS_WITHIN_S", 0.2)
    try:
        outcome = start_detached(JoinSettings(url=URL, id="w", address="10.0.0.7"), tmp_path)
    except Rejected as error:
        outcome = str(error)
    assert told in outcome


def test_a_unit_joins_by_the_folder_alone(tmp_path: Path) -> None:
    unit = systemd_unit(JoinSettings(url=URL, id="one", address="127.0.0.1"), tmp_path)
    assert f"worker join --directory {tmp_path}\n" in unit and "token" not in unit


@pytest.mark.parametrize(
    ("worker", "platform", "fits"),
    [("0.1.0", "0.1.7", True), ("0.2.0", "0.1.0", False), ("1.0.0", "0.1.0", False), ("0.1", "0.1.3", True)],
)
def test_versions_fit_by_their_first_two_numbers(worker: str, platform: str, fits: bool) -> None:
    if fits:
        check_fits(worker, platform)
        return
    with pytest.raises(Rejected, match=f"the worker runs muster-platform {worker}") as refused:
        check_fits(worker, platform)
    assert refused.value.hint and ".".join(platform.split(".")[:2]) in refused.value.hint


def _credentials(until: datetime) -> Credentials:
    return Credentials.model_validate(
        {"worker": "one", "jwt": "e30.e30.x", "nats_url": "nats://127.0.0.1:4222", "expires_at": until}
    )
