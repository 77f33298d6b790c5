"""Attack 1: a trial replaces its output file by a link to a file of the machine, so that the worker puts it into the log."""

import os
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)
SECRET = "muster_token_of_the_administrator"
ATTACKS = {
    "link": "os.symlink(secret, out)",
    "link in a folder": "os.mkdir('d'); os.symlink(secret, 'd/0.stdout'); os.symlink(os.path.abspath('d/0.stdout'), out)",
    "folder": "os.mkdir(out)",
    "pipe": "os.mkfifo(out)",
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_log_holds_only_what_the_trial_wrote(
    platform: FakePlatform, hostile: Daemon, secret: Path, tmp_path: Path, attack: str
) -> None:
    print(f"tried: {attack} in place of the file of standard output; stopped by openat2 and fstat")
    tmp_path.joinpath("train.py").write_text(f"""
import muster, os, sys, time
trial = muster.trial()
logs = os.path.join(os.path.dirname(os.environ["MUSTER_TRIAL"]), "logs")
secret, out = {str(secret)!r}, os.path.join(logs, "0.stdout")
os.unlink(out)
{ATTACKS[attack]}
trial.report(1, loss=1.0)
print("replaced", file=sys.stderr, flush=True)
time.sleep(2)
""")
    run = platform.allocation(f"log {attack}", platform.add_code(tmp_path), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: (seen := platform.of("h1", run)) is not None and seen.state == "exited")
    await eventually(lambda: "replaced" in platform.text(run))
    assert SECRET not in platform.text(run)
    assert secret.read_text().startswith(SECRET)
    await platform.desire("h1")
    await eventually(lambda: platform.of("h1", run) is None)
    assert os.path.exists(secret)
