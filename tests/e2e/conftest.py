"""The whole platform, started once as a user starts it, on free ports and in a folder of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.client import connect
from muster.client.settings import FILE, read_address
from tests.e2e.platform import Platform
from tests.support.command_line import MUSTER


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: needs the whole platform, which is started once")


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Start the platform, and stop it at the end; one that runs in MUSTER_E2E_HOME is used instead."""
    running = os.environ.get("MUSTER_E2E_HOME")
    if running:
        with connect(read_address(Path(running) / FILE)) as client:
            yield Platform(Path(running), {**os.environ, "MUSTER_HOME": running}, client)
        return
    home = tmp_path_factory.mktemp("platform") / ".muster"
    known = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    # Trials give way to nobody: other testers compute on the same cores.
    own = {"MUSTER_HOME": str(home), "MUSTER_GATEWAY__PORT": "0", "MUSTER_WORKER__NICENESS": "0"}
    environment = known | own
    started = subprocess.run([MUSTER, "up"], env=environment, cwd=home.parent, check=False, timeout=240)
    assert started.returncode == 0, f"the platform did not start; see {home / 'logs'}"
    address = read_address(home / FILE)
    try:
        with connect(address) as client:
            yield Platform(home, environment, client)
    finally:
        subprocess.run([MUSTER, "down"], env=environment, cwd=home.parent, check=False, timeout=120)
