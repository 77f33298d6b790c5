"""Secrets of a run: its processes get them, its log hides them, and nothing on the worker's disk contains them."""

import asyncio
import base64
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.errors import Rejected
from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

VALUE = "hf_q7J2vXrT0bLwYcPz"
KEY = "-----BEGIN KEY-----\nQm9iJ3MgcHJpdmF0ZQ\na2V5IGlzIGhpZGRlbg\n-----END KEY-----\n"
ONE = (GangMember(worker="w1", slots=1),)
REFERENCES = [{"name": "HF_TOKEN"}, {"name": "SSH_KEY", "file": ".ssh/id_ed25519"}]
PRINTING = """
import base64, hashlib, muster, os, stat, sys
trial = muster.trial()
token, path = os.environ["HF_TOKEN"], os.path.expanduser("~/.ssh/id_ed25519")
key = open(path).read()
assert "SSH_KEY" not in os.environ and stat.S_IMODE(os.stat(path).st_mode) == 0o600
print("digests", *(hashlib.sha256(one.encode()).hexdigest() for one in (token, key)))
print("plain", token)
print("encoded", base64.b64encode(b"user:" + token.encode()).decode(), token.encode().hex())
print("\\x1b[31m" + token[:7] + "\\x1b[0m" + token[7:] + " in colours")
print("x" * (16 * 1024 - 5) + token + " over two pieces")
print(key)
trial.report(1, loss=1.0)
sys.stdout.flush()
raise SystemExit if len(sys.argv) > 1 else ValueError("bad token " + token)
"""
WAITING = """
import muster, os, time
trial = muster.trial()
trial.report(1, loss=1.0)
while not trial.should_stop():
    time.sleep(0.02)
    if os.path.exists("now"):
        print("late", os.environ["HF_TOKEN"], flush=True)
        break
"""


@pytest.fixture
def given(platform: FakePlatform, worker: Daemon) -> FakePlatform:
    """The neighbours, and two secrets that the worker's runs get."""
    platform.secrets = {"HF_TOKEN": VALUE, "SSH_KEY": KEY}
    platform.secret_keys = {worker.name: worker.user_key}
    platform.secrets_asked.clear()
    return platform


def _run(platform: FakePlatform, name: str, tmp_path: Path, script: str, **spec: Any) -> DesiredAllocation:
    (tmp_path / "train.py").write_text(script)
    return platform.allocation(name, platform.add_code(tmp_path), ONE, spec={"secrets": REFERENCES, **spec})


def _files_with(directory: Path, text: str) -> list[str]:
    found = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and text.encode() in path.read_bytes():
                found.append(str(path.relative_to(directory)))
    return found


async def test_processes_get_the_values_and_the_log_hides_them(
    given: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "startup-hook.sh").write_text('echo "hook has $HF_TOKEN"\n')
    run = _run(given, "printing", tmp_path, PRINTING)
    await given.desire("w1", run)
    await eventually(lambda: state_of(given, run) == "exited")
    await eventually(lambda: "over two pieces" in given.text(run) and "ValueError" in given.text(run))
    text, observed = given.text(run), given.of("w1", run)
    digests = " ".join(hashlib.sha256(one.encode()).hexdigest() for one in (VALUE, KEY))
    assert f"digests {digests}" in text and "hook has ****" in text
    secret_texts = (
        VALUE,
        VALUE[4:15],
        VALUE.encode().hex(),
        base64.b64encode(b"user:" + VALUE.encode()).decode(),
    )
    for hidden in (*secret_texts, *KEY.splitlines()):
        assert hidden not in text, hidden
    assert observed is not None and observed.reason is not None
    assert "bad token ****" in observed.reason and VALUE not in observed.reason
    on_disk = _files_with(worker.directory, VALUE)
    assert all(name.startswith("runs/") and "/logs/0.std" in name for name in on_disk), on_disk
    assert not list(worker.directory.glob("runs/*/home/.ssh/id_ed25519")), "removed with the end of the run"


async def test_a_missing_secret_ends_the_run_with_a_reason(
    given: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    given.secrets["SSH_KEY"] = Rejected("secret_missing", "workspace 'vision' has no secret SSH_KEY")
    run = _run(given, "missing", tmp_path, PRINTING)
    await given.desire("w1", run)
    await eventually(lambda: state_of(given, run) == "exited")
    observed = given.of("w1", run)
    assert observed is not None and observed.fault == "user"
    assert "workspace 'vision' has no secret SSH_KEY" in (observed.reason or "")
    await eventually(lambda: "workspace 'vision' has no secret SSH_KEY" in given.text(run))


async def test_the_start_waits_for_a_gateway_that_does_not_answer(
    given: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    run = _run(given, "patient", tmp_path, PRINTING, entrypoint="python3 train.py well")
    given.away = True
    await given.desire("w1", run)
    await asyncio.sleep(1.0)
    assert state_of(given, run) == "preparing"
    given.away = False
    await eventually(lambda: "digests" in given.text(run))


async def test_after_a_restart_the_worker_asks_again_and_hides_the_output(
    given: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = await heard(given, daemons("w2"))
    given.secret_keys[daemon.name] = daemon.user_key
    (tmp_path / "train.py").write_text(WAITING)
    code = given.add_code(tmp_path)
    members = (GangMember(worker="w2", slots=1),)
    run = given.allocation("restarted", code, members, spec={"secrets": REFERENCES})
    await given.desire("w2", run)
    await eventually(lambda: given.steps(run) == [1])
    daemon.kill()
    assert not _files_with(daemon.directory, VALUE)
    next(daemon.directory.glob("runs/*/code")).joinpath("now").touch()
    await asyncio.sleep(0.5)  # it prints and ends while no daemon is there
    given.away = True
    given.secrets_asked.clear()
    daemon.start()
    await asyncio.sleep(2.0)
    assert "late" not in given.text(run), "nothing is sent before it can be hidden"
    given.away = False
    await eventually(lambda: state_of(given, run, "w2") == "exited")
    await eventually(lambda: "late ****" in given.text(run))
    assert VALUE not in given.text(run)
    assert sorted(given.secrets_asked) == [("w2", "HF_TOKEN"), ("w2", "SSH_KEY")]


async def test_output_that_cannot_be_masked_any_more_is_hidden(
    given: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = await heard(given, daemons("w3"))
    given.secret_keys[daemon.name] = daemon.user_key
    (tmp_path / "train.py").write_text(WAITING)
    members = (GangMember(worker="w3", slots=1),)
    run = given.allocation("refused", given.add_code(tmp_path), members, spec={"secrets": REFERENCES})
    await given.desire("w3", run)
    await eventually(lambda: given.steps(run) == [1])
    daemon.kill()
    next(daemon.directory.glob("runs/*/code")).joinpath("now").touch()
    await asyncio.sleep(0.5)
    given.secrets["HF_TOKEN"] = Rejected("secret_forbidden", "worker w3 does not run it")
    daemon.start()
    await eventually(lambda: state_of(given, run, "w3") == "exited")
    await eventually(lambda: "did not get the run's secrets again" in given.text(run))
    assert VALUE not in given.text(run) and "late" not in given.text(run)
