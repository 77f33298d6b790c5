"""A platform of its own for each module that breaks things, with two one-slot workers."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from muster.client import connect
from muster.client.settings import FILE, read_address
from tests.chaos.breaking import Breaking
from tests.support.command_line import MUSTER
from tests.support.warm import WITHOUT_TORCH


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "chaos: kills parts of a whole platform")


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Breaking]:
    home = tmp_path_factory.mktemp("chaos") / ".muster"
    known = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    environment = known | {
        "MUSTER_HOME": str(home),
        "MUSTER_GATEWAY__PORT": "0",
        **WITHOUT_TORCH,
        "MUSTER_WORKER__NICENESS": "0",  # other testers compute on the same cores
        "MUSTER_PROVISIONER__MINIMUM": "2",
        "MUSTER_PROVISIONER__MAXIMUM": "2",
    }
    started = subprocess.run([MUSTER, "up"], env=environment, cwd=home.parent, check=False, timeout=240)
    assert started.returncode == 0, f"the platform did not start; see {home / 'logs'}"
    try:
        with connect(read_address(home / FILE)) as client:
            breaking = Breaking(home, environment, client)
            breaking.await_workers(2)
            yield breaking
    finally:
        subprocess.run([MUSTER, "down"], env=environment, cwd=home.parent, check=False, timeout=120)
