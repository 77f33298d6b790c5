"""Servers that already run: `muster up` starts its services on them, and `muster down` leaves them alone."""

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from deploy.embedded.supervision.orphan_processes import find_marked
from tests.integration.servers import Servers
from tests.support.command_line import MUSTER

pytestmark = pytest.mark.timeout(180)


def test_given_addresses_are_used_and_their_servers_left_alone(servers: Servers) -> None:
    home = Path(tempfile.mkdtemp(prefix="muster-ext-")) / ".muster"
    environment, second = _environment(servers, home), home.parent / "second"
    try:
        _muster(environment, "up")
        report = json.loads(_muster(environment, "status", "--json"))
        states = {part["name"]: part["state"] for part in report["parts"]}
        assert [states[name] for name in ("nats", "postgres", "redis", "s3")] == ["external"] * 4
        assert _experiments(home) == 200

        refused = _muster(_environment(servers, second), "up", fails=True)
        assert "belongs to another platform" in refused and "MUSTER_POSTGRES__DATABASE" in refused
        assert _experiments(home) == 200

        _muster(environment, "database", "rotate", "registry")
        assert _experiments(home) == 200
        _muster(environment, "down")
        moved = home.parent / "moved"
        home.rename(moved)
        environment, home = _environment(servers, moved), moved
        _muster(environment, "up")
        assert _experiments(home) == 200
    finally:
        for one in (environment, _environment(servers, second)):
            _muster(one, "down")
        assert not list(find_marked(home)) and not list(find_marked(second))
        shutil.rmtree(home.parent, ignore_errors=True)
    assert all(server.ready() for server in (servers.nats, servers.postgres, servers.redis, servers.s3))


def test_an_operator_sets_up_a_database_by_hand(servers: Servers, tmp_path: Path) -> None:
    environment = _environment(servers, tmp_path) | {"MUSTER_POSTGRES__DATABASE": "muster_by_hand"}
    _muster(environment, "database", "init")
    first = (tmp_path / "database" / "scheduler.env").read_text()
    assert "MUSTER_POSTGRES__SYSTEM_URL=postgresql://muster_by_hand_scheduler_system:" in first
    assert "OWNER" not in first and "scheduler_owner" not in first
    assert "are migrated" in _muster(environment, "database", "migrate")
    assert (tmp_path / "database" / "scheduler.env").stat().st_mode & 0o777 == 0o600
    told = json.loads(_muster(environment, "database", "init", "--json"))
    assert told["settings"] == str(tmp_path / "database")
    assert (tmp_path / "database" / "scheduler.env").read_text() == first

    _muster(environment, "database", "rotate", "scheduler")
    assert (tmp_path / "database" / "scheduler.env").read_text() != first
    _muster(environment, "database", "init")

    lost = environment | {"MUSTER_HOME": str(tmp_path / "other")}
    assert "muster database take-over" in _muster(lost, "database", "init", fails=True)
    asked = _muster(lost, "database", "take-over", fails=True)
    assert (tmp_path / "platform-id").read_text().strip() in asked and "--yes" in asked
    _muster(lost, "database", "take-over", "--yes")
    _muster(lost, "database", "init")
    assert "belongs to another platform" in _muster(environment, "database", "rotate", fails=True)


def _environment(servers: Servers, home: Path) -> dict[str, str]:
    access, secret = servers.s3.administrator
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    return {
        **kept,
        "MUSTER_HOME": str(home),
        "MUSTER_KEYS": str(servers.keys.directory),
        "MUSTER_NATS__URL": servers.nats.url,
        "MUSTER_POSTGRES__URL": servers.postgres.administrator_url,
        "MUSTER_REDIS__URL": servers.redis.url,
        "MUSTER_S3__URL": servers.s3.url,
        "MUSTER_S3__ACCESS_KEY": access,
        "MUSTER_S3__SECRET_KEY": secret,
        "MUSTER_S3__BUCKET": "elsewhere",
        "MUSTER_GATEWAY__PORT": "0",
        "MUSTER_PROVISIONER__MINIMUM": "0",
    }


def _experiments(home: Path) -> int:
    """The status of a request that needs the token's hash, and so the pepper, in the database."""
    client = json.loads((home / "client.json").read_text())
    request = urllib.request.Request(
        f"{client['url']}/v1/experiments", headers={"Authorization": f"Bearer {client['token']}"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return int(response.status)


def _muster(environment: dict[str, str], *words: str, fails: bool = False) -> str:
    done = subprocess.run(
        [MUSTER, *words], env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stdout + (done.stderr if fails else "")
