"""Machines that people start: two of them, on loopback, train together with one platform; both are stopped and come again without a token."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.platform import Platform
from tests.support.command_line import MUSTER, Ended
from tests.support.warm import WITHOUT_TORCH

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Path]:
    """A folder for machines; what was started there ends with the test."""
    yield tmp_path
    for lock in tmp_path.glob("*/daemon.lock"):
        with suppress(psutil.Error, ValueError, IndexError):
            psutil.Process(int(lock.read_text().split()[0])).kill()


def _join(platform: Platform, folder: Path, *words: str) -> Ended:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    done = subprocess.run(
        [MUSTER, "worker", "join", "--directory", str(folder), *words],
        env=environment | WITHOUT_TORCH, cwd=folder.parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def _daemon(folder: Path) -> int:
    return int((folder / "daemon.lock").read_text().split()[0])


def _ready(platform: Platform, *names: str) -> bool:
    found = {one.id for one in platform.client.cluster.workers() if one.state == "ready"}
    return found >= set(names)


def test_two_machines_join_work_and_come_again(platform: Platform, machines: Path) -> None:
    url = platform.client.address.url
    folders = {name: machines / name for name in ("left", "right")}
    for name, folder in folders.items():
        token = platform.muster("worker", "token", "--worker", name).out.strip()
        words = (
            "--url",
            url,
            "--token",
            token,
            "--id",
            name,
            "--slots",
            "1",
            "--labels",
            "room=two",
            "--detach",
        )
        joined = _join(platform, folder, *words)
        assert joined.code == 0 and f"worker {name} joined pool default" in joined.err, joined.err
    platform.until(lambda: _ready(platform, *folders))
    where = {"required_labels": {"room": "two"}, "slots_per_trial": 1}
    made = platform.create(resources=where)
    platform.completed(made)
    [run] = platform.client.trials.runs(platform.client.trials.list(made.number).all()[0].id).all()
    assert {member.worker for member in run.members} <= set(folders)

    for folder in folders.values():
        daemon = psutil.Process(_daemon(folder))
        os.kill(daemon.pid, signal.SIGTERM)
        assert daemon.wait(timeout=60) in (0, None)
    platform.until(lambda: not any(_ready(platform, name) for name in folders))
    for folder in folders.values():
        assert _join(platform, folder, "--detach").code == 0
    platform.until(lambda: _ready(platform, *folders))
    platform.completed(platform.create(resources=where))


def test_who_may_not_join_is_told_why(platform: Platform, machines: Path) -> None:
    url = platform.client.address.url
    first = _join(platform, machines / "one")
    assert first.code == 3 and "the platform's address is not known" in first.err
    wrong = _join(platform, machines / "one", "--url", url, "--token", "nonsense")
    assert wrong.code == 3 and "invalid, already used or expired" in wrong.err
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = _join(
            platform, machines / "one", "--url", f"http://127.0.0.1:{free.getsockname()[1]}", "--token", "x"
        )
    assert away.code == 6 and "did not accept the join request" in away.err
    token = platform.muster("worker", "token").out.strip()
    unit = _join(platform, machines / "two", "--url", url, "--token", token, "--id", "two", "--systemd")
    assert (
        unit.code == 0 and f"worker join --directory {machines / 'two'}" in unit.out and token not in unit.out
    )
