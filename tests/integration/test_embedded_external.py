"""Servers that already run: `muster up` starts its services on them, and `muster down` leaves them alone."""

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from deploy.embedded.leftovers import marked
from tests.integration.servers import Servers
from tests.support.command_line import MUSTER

pytestmark = pytest.mark.timeout(180)


def test_given_addresses_are_used_and_their_servers_left_alone(servers: Servers) -> None:
    home = Path(tempfile.mkdtemp(prefix="muster-ext-")) / ".muster"
    access, secret = servers.s3.administrator
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    environment = {
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
    try:
        _muster(environment, "up")
        report = json.loads(_muster(environment, "status", "--json"))
        states = {part["name"]: part["state"] for part in report["parts"]}
        assert [states[name] for name in ("nats", "postgres", "redis", "s3")] == ["external"] * 4
        client = json.loads((home / "client.json").read_text())
        request = urllib.request.Request(
            f"{client['url']}/v1/experiments", headers={"Authorization": f"Bearer {client['token']}"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 200
    finally:
        _muster(environment, "down")
        assert not list(marked(home))
        shutil.rmtree(home.parent, ignore_errors=True)
    assert all(server.ready() for server in (servers.nats, servers.postgres, servers.redis, servers.s3))


def _muster(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [MUSTER, *words], env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
