"""The embedded platform as a person uses it: up, down, up again, crashes of its parts, crashes of itself."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

import psutil
import pytest

from deploy.embedded.host.ports import accepts
from deploy.embedded.host.processes import wait_until
from deploy.embedded.options import NICENESS, RUNS_NICENESS
from deploy.embedded.servers.s3 import NICENESS as S3_NICENESS
from deploy.embedded.state import load_state
from deploy.embedded.supervision.orphan_processes import find_marked
from tests.support.command_line import MUSTER, run
from tests.support.warm import WITHOUT_TORCH

PARTS = {
    "postgres",
    "nats",
    "redis",
    "s3",
    "registry",
    "searcher",
    "scheduler",
    "provisioner",
    "gateway",
    "simulator",
    "bus-keeper",
}

DASHBOARD = Path(__file__).parents[2] / "web" / "dist" / "routes.json"

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True)
class Place:
    """A folder with a platform in it, driven by the command."""

    home: Path

    def run(self, *words: str, code: int = 0, **extra: str) -> str:
        """Run `muster …`; its output, the errors with it."""
        environment = self.environment() | extra
        done = subprocess.run(
            [MUSTER, *words], env=environment, capture_output=True, text=True, timeout=150, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        return kept | WITHOUT_TORCH | {"MUSTER_HOME": str(self.home), "MUSTER_GATEWAY__PORT": "0"}

    def status(self) -> dict[str, Any]:
        told = run("status", "--json", environment=self.environment(), folder=self.home.parent)
        assert told.code == 0, told
        return told.json()

    def pids(self) -> dict[str, int]:
        return {part["name"]: part["pid"] for part in self.status()["parts"]}

    def ports(self) -> set[int]:
        return {port for part in self.status()["parts"] for port in part["ports"]}

    def is_running(self, name: str, *, other_than: int) -> bool:
        for part in self.status()["parts"]:
            if part["name"] == name:
                return part["state"] == "running" and part["pid"] not in (None, other_than)
        return False


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    home = Path(tempfile.mkdtemp(prefix="muster-up-")) / ".muster"
    yield Place(home)
    with suppress(AssertionError):
        Place(home).run("down")
    for process in set(find_marked(home)):
        process.send(signal.SIGKILL)
    shutil.rmtree(home.parent, ignore_errors=True)


def _sign_in_once(url: str, told: str) -> None:
    """By the link that `muster up` printed, which says how often and until when."""
    assert "It works once, until" in told
    code = told.partition(f"{url}/#sign-in=")[2].split()[0]
    for status in (200, 422):
        request = urllib.request.Request(
            f"{url}/v1/sign-in/link",
            data=json.dumps({"code": code}).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            found = urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as refused:
            found = refused.code
        assert found == status


def _ask(url: str, token: str) -> int:
    request = urllib.request.Request(f"{url}/v1/experiments", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return int(response.status)


def test_up_makes_a_platform_that_answers_its_token(place: Place) -> None:
    printed = place.run("up")
    client = json.loads((place.home / "client.json").read_text())
    if DASHBOARD.exists():
        _sign_in_once(client["url"], printed)
    assert _ask(client["url"], client["token"]) == 200
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, place.pids()["s3"]) == min(19, own + RUNS_NICENESS + S3_NICENESS)
    told = Path(f"/proc/{place.pids()['provisioner']}/environ").read_text().split("\0")
    assert f"{NICENESS}={RUNS_NICENESS}" in told
    assert (place.home / "client.json").stat().st_mode & 0o777 == 0o600
    assert place.pids().keys() == PARTS | {"supervisor"}


def test_services_hold_no_owners_password_and_the_audit_log_is_anchored(place: Place) -> None:
    secrets = [path.read_text().strip() for path in (place.home / "secrets").glob("postgres-*_owner")]
    held = [
        Path(f"/proc/{pid}/environ").read_text() for name, pid in place.pids().items() if name != "supervisor"
    ]
    assert len(secrets) == 5 and not [one for one in secrets for told in held if one in told]
    assert not [warning for warning in place.status()["warnings"] if "audit" in warning]
    client = json.loads((place.home / "client.json").read_text())
    request = urllib.request.Request(
        f"{client['url']}/v1/audit/verification", headers={"Authorization": f"Bearer {client['token']}"}
    )

    def is_anchored() -> bool:
        with suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=10) as response:
            return bool(json.loads(response.read())["anchors"])
        return False

    assert wait_until(is_anchored, 90.0, pause_s=1.0)


def test_a_second_up_finds_the_first(place: Place) -> None:
    before = place.pids()
    assert "already running" in place.run("up")
    assert place.pids() == before


def test_nothing_listens_beyond_this_machine(place: Place) -> None:
    pids = {pid for root in place.pids().values() for pid in _tree(root)}
    listening = [
        connection.laddr[0]
        for connection in psutil.net_connections("inet")
        if connection.laddr and connection.pid in pids and connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert not [address for address in listening if not _is_loopback(address)]


def test_a_service_has_another_key_without_a_pause_of_the_others(place: Place) -> None:
    before, creds = place.pids(), place.home / "keys" / "registry.creds"
    old = creds.read_text()
    assert "registry has a new key" in place.run("keys", "rotate", "registry")
    assert wait_until(lambda: place.is_running("registry", other_than=before["registry"]), 40, pause_s=0.5)
    assert creds.read_text() != old
    assert {name for name, pid in place.pids().items() if before[name] != pid} == {"registry"}
    assert "registry" in (place.home / "keys" / "revoked.json").read_text()
    assert "worker nobody" in place.run("keys", "revoke", "nobody", code=4)


def test_status_shows_a_degraded_platform_with_the_reason(place: Place) -> None:
    """The bus is frozen: its connections are open, and it stores nothing."""
    assert wait_until(lambda: place.status()["health"] == "ok", 30, pause_s=0.5)
    frozen = place.pids()["nats"]
    os.kill(frozen, signal.SIGSTOP)
    try:
        assert wait_until(lambda: place.status()["health"] == "degraded", 30, pause_s=0.5)
        found = place.status()["problems"]
        assert any(one["check"] == "bus" and one["reason"] and one["since"] for one in found)
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert wait_until(lambda: place.status()["health"] == "ok", 60, pause_s=0.5)


@pytest.mark.parametrize("name", ["searcher", "nats", "postgres", "gateway"])
def test_what_is_killed_is_started_again(place: Place, name: str) -> None:
    killed = place.pids()[name]
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: place.is_running(name, other_than=killed), 40, pause_s=0.5)
    client = json.loads((place.home / "client.json").read_text())

    def answers() -> bool:
        with suppress(OSError):
            return _ask(client["url"], client["token"]) == 200
        return False

    assert wait_until(answers, 30, pause_s=0.5)


def test_down_leaves_no_process_and_no_port(place: Place) -> None:
    ports = place.ports()
    processes = set(find_marked(place.home))
    assert len(processes) >= len(PARTS)
    place.run("down")
    assert not [process for process in processes if process.is_alive()]
    assert not list(find_marked(place.home))
    assert not [port for port in ports if accepts(port)]
    assert not (place.home / "client.json").exists()
    assert "no platform runs" in place.run("status", code=3)
    place.run("down")


def test_after_a_killed_supervisor_up_starts_well_and_down_leaves_nothing(place: Place) -> None:
    place.run("up")
    token = (place.home / "secrets" / "admin-token").read_text().strip()
    os.kill(place.pids()["supervisor"], signal.SIGKILL)
    place.run("up")
    client = json.loads((place.home / "client.json").read_text())
    assert client["token"] == token
    assert _ask(client["url"], token) == 200
    state = load_state(place.home)
    assert state is not None
    expected = {part.process.pid for part in state.parts if part.process}
    assert {process.pid for process in find_marked(place.home)} >= expected
    ports = place.ports()
    os.kill(place.pids()["supervisor"], signal.SIGKILL)
    place.run("down")
    assert not list(find_marked(place.home))
    assert not [port for port in ports if accepts(port)]


def test_a_taken_port_is_named_and_nothing_is_started(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = place.run("up", code=3, MUSTER_GATEWAY__PORT=port)
    assert f"port {port} is in use" in said
    assert "MUSTER_GATEWAY__PORT" in said
    assert not list(find_marked(place.home))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = Place(tmp_path / "file" / ".muster").run("up", code=7)
    assert str(tmp_path / "file") in said


def _is_loopback(text: str) -> bool:
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _tree(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return []
