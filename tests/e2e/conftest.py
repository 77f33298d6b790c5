"""The whole platform, started once as a user starts it, on free ports and in a folder of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import oidc_provider_mock
import pytest

from muster.client import connect
from muster.client.settings import FILE, read_address
from tests.e2e.platform import Platform
from tests.support.command_line import MUSTER

SIGN_IN = """\
providers:
  acme:
    {{tenant: default, issuer: "http://localhost:{port}", client_id: muster, client_secret_file: {folder}/secret,
     new_people: true, default_role: viewer, label: Acme}}
"""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: needs the whole platform, which is started once")


@pytest.fixture(scope="session")
def sign_in_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What has the platform take a small provider's word for people, and show it as Acme; the provider runs meanwhile."""
    cleo = oidc_provider_mock.User(sub="cleo", claims={"preferred_username": "cleo", "name": "Cleo"})
    folder = tmp_path_factory.mktemp("provider")
    (folder / "secret").write_text("secret")
    with oidc_provider_mock.run_server_in_thread(user_claims=[cleo]) as server:
        (folder / "sign_in.yaml").write_text(SIGN_IN.format(port=server.server_port, folder=folder))
        yield folder / "sign_in.yaml"


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory, sign_in_file: Path) -> Iterator[Platform]:
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
    environment = known | own | {"MUSTER_GATEWAY__SIGN_IN_FILE": str(sign_in_file)}
    started = subprocess.run([MUSTER, "up"], env=environment, cwd=home.parent, check=False, timeout=240)
    assert started.returncode == 0, f"the platform did not start; see {home / 'logs'}"
    address = read_address(home / FILE)
    try:
        with connect(address) as client:
            yield Platform(home, environment, client)
    finally:
        subprocess.run([MUSTER, "down"], env=environment, cwd=home.parent, check=False, timeout=120)
