"""Attacks of a trial on the worker that runs it, which is root where the trial is another user."""

from pathlib import Path

import pytest

from tests.integration.conftest import nats_server, servers
from tests.integration.worker.conftest import daemons, platform
from tests.integration.worker.test_hostile import hostile

__all__ = ["daemons", "hostile", "nats_server", "platform", "servers"]


@pytest.fixture
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the machine that only the worker's user can read."""
    path = tmp_path_factory.mktemp("machine") / "admin.token"
    path.write_text("muster_token_of_the_administrator\n" * 3)
    path.chmod(0o600)
    return path
