"""Secrets of a run as files: its own user reads them, no other user does, and the worker does not write through what a trial has put there."""

import hashlib
import os
from pathlib import Path

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)
KEY = "-----BEGIN KEY-----\nQm9iJ3MgcHJpdmF0ZQ\n-----END KEY-----\n"
SCRIPT = """
import hashlib, os, stat, muster
trial = muster.trial()
path = os.path.expanduser("~/.ssh/id")
status = os.stat(path)
print("digest", hashlib.sha256(open(path, "rb").read()).hexdigest())
print("mine", status.st_uid == os.getuid(), oct(stat.S_IMODE(status.st_mode)), oct(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)))
for other in sorted(os.listdir("/proc")):
    if other.isdigit() and int(other) == os.getppid():
        try:
            print("parent", "HF_TOKEN" in open(f"/proc/{other}/environ").read())
        except OSError as error:
            print("parent", type(error).__name__)
# What a daemon that is restarted would write again must not end up elsewhere.
os.unlink(path)
os.symlink(os.environ["TARGET"], path)
trial.report(1, loss=1.0)
"""


async def test_a_file_belongs_to_the_trial_alone_and_is_never_written_through_a_link(
    platform: FakePlatform, hostile: Daemon, secret: Path, tmp_path: Path
) -> None:
    platform.secrets = {"HF_TOKEN": "hf_q7J2vXrT0bLwYcPz", "SSH_KEY": KEY}
    platform.secret_keys = {"h1": hostile.user_key}
    (tmp_path / "train.py").write_text(SCRIPT)
    spec = {
        "secrets": [{"name": "HF_TOKEN"}, {"name": "SSH_KEY", "file": ".ssh/id"}],
        "environment": {"TARGET": str(secret)},
    }
    before = secret.read_text()
    run = platform.allocation("secret file", platform.add_code(tmp_path), ONE, spec=spec)
    await platform.desire("h1", run)
    await eventually(lambda: state_of(platform, run, "h1") == "exited")
    await eventually(lambda: "mine " in platform.text(run))
    assert f"digest {hashlib.sha256(KEY.encode()).hexdigest()}" in platform.text(run)
    assert "mine True 0o600 0o700" in platform.text(run)
    assert "parent True" not in platform.text(run)
    assert secret.read_text() == before
    await platform.desire("h1")
    await eventually(lambda: platform.of("h1", run) is None)
    assert os.path.exists(secret) and secret.read_text() == before
