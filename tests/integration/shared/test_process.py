import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers.base import Home
from deploy.embedded.services import Service
from tests.support.waiting import TIMEOUT_S

SCRIPT = Path(__file__).with_name("process_under_test.py")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(mode: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        child = subprocess.Popen(
            [sys.executable, str(SCRIPT), *arguments],
            env={**clean, "MODE": mode, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        return child

    yield begin
    for child in started:
        child.kill()
        child.communicate()


def port_of(child: subprocess.Popen[str], until: str = "the process became ready") -> int:
    """Read the log up to an event; return the side port that it told on the way."""
    assert child.stderr is not None
    port = 0
    for line in child.stderr:
        event: dict[str, Any] = json.loads(line)
        port = int(event.get("side_port", port))
        if event["event"] == until:
            return port
    raise AssertionError(f"the process ended without {until!r}")


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(start: Start, number: signal.Signals) -> None:
    child = start("run")
    port_of(child)
    child.send_signal(number)
    told, _ = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 0
    assert told.splitlines() == [
        "stopped fetching",
        "finished the batch",
        "flushed the outbox",
        "closed the bus",
        "closed the database",
    ]


def test_a_server_that_starts_later_is_waited_for(start: Start) -> None:
    child = start("late server")
    port_of(child, until="waiting for a server")
    port_of(child)
    child.send_signal(signal.SIGTERM)
    told, _ = child.communicate(timeout=10)
    assert (child.returncode, told.splitlines()[0]) == (0, "was answered yes")


def test_the_side_port_tells_whether_it_lives_and_is_ready(start: Start) -> None:
    port = port_of(start("run"))
    assert get(port, "/live") == (200, '{"live": true}')
    assert get(port, "/ready")[0] == 200
    assert "process_cpu_seconds_total" in get(port, "/metrics")[1]


def test_a_failing_check_makes_it_unready(start: Start) -> None:
    port = port_of(start("unready"))
    status, body = get(port, "/ready")
    checks = {check["name"]: check for check in json.loads(body)["checks"]}
    assert status == 503
    assert (checks["bus"]["ok"], checks["process"]["ok"]) == (False, True)
    assert checks["bus"]["since"] and checks["bus"]["reason"] == "no leader for the stream"
    assert get(port, "/live")[0] == 200
    assert get(port, "/ready?exclude=bus")[0] == 200


def test_a_service_counts_as_started_while_a_dependency_is_away(start: Start, tmp_path: Path) -> None:
    """The supervisor restarts what does not start; that would not bring a dependency back."""
    service = Service(Home(tmp_path), "searcher", port_of(start("unready")), dict)
    assert service.ready()
    (absent,) = free_ports(1)
    assert not Service(Home(tmp_path), "searcher", absent, dict).ready()


def test_metrics_stay_behind_the_token(start: Start) -> None:
    port = port_of(start("run", MUSTER_SIDE__TOKEN="hush"))
    assert get(port, "/metrics")[0] == 401
    assert get(port, "/metrics", Authorization="Bearer wrong")[0] == 401
    assert get(port, "/metrics", Authorization="Bearer hush")[0] == 200
    assert get(port, "/live")[0] == 200


def test_a_crashed_task_ends_the_process_and_closes_everything(start: Start) -> None:
    told, logged = (child := start("crash")).communicate(timeout=TIMEOUT_S)
    assert child.returncode == 1
    assert told.splitlines()[-2:] == ["closed the bus", "closed the database"]
    assert "the index is corrupt" in logged


def test_a_task_that_loses_its_cancellation_does_not_keep_a_crashed_process(start: Start) -> None:
    told, _ = (child := start("stay and crash")).communicate(timeout=TIMEOUT_S)
    assert child.returncode == 1
    assert told.splitlines() == ["lost a cancellation", "closed the bus", "closed the database"]


def test_a_task_that_loses_its_cancellation_does_not_keep_a_process_from_its_end(start: Start) -> None:
    child = start("stay")
    port_of(child)
    child.send_signal(signal.SIGTERM)
    told, _ = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 0
    assert "lost a cancellation" in told and told.endswith("closed the bus\nclosed the database\n")


def test_a_failing_start_says_why_and_closes_what_was_opened(start: Start) -> None:
    told, logged = (child := start("refuse")).communicate(timeout=TIMEOUT_S)
    assert child.returncode == 1
    assert told.splitlines() == ["closed the bus", "closed the database"]
    assert json.loads(logged.splitlines()[-1])["error"] == "the database does not answer"


def test_a_port_in_use_is_named(start: Start) -> None:
    port = port_of(start("run"))
    _, logged = (second := start("run", MUSTER_SIDE__PORT=str(port))).communicate(timeout=TIMEOUT_S)
    assert second.returncode == 1
    assert f"'127.0.0.1', {port}" in logged


def test_settings_are_shown_masked(start: Start) -> None:
    told, _ = (child := start("run", "--print-settings", MUSTER_SIDE__TOKEN="hush")).communicate(
        timeout=TIMEOUT_S
    )
    assert child.returncode == 0
    assert json.loads(told)["nats"]["url"] == "nats://127.0.0.1:4222"
    assert "hush" not in told


def test_bad_settings_are_named_and_refused(start: Start) -> None:
    _, logged = (child := start("run", MUSTER_NATS__URLL="x")).communicate(timeout=TIMEOUT_S)
    assert child.returncode == 2
    assert "MUSTER_NATS__URLL is not a setting of Muster" in logged
