"""What pip installs for a trial does not choose the user that the next step of the installation runs as."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)
# `user` in the folder of an environment named its user for the later steps. A .pth file runs at each of them.
SETUP = """
import os
from setuptools import setup
home = os.environ["HOME"]
os.path.lexists(home + "/user") and os.unlink(home + "/user")
open(home + "/user", "w").write("0")
packages = home + "/lib/python3.11/site-packages/"
open(packages + "hostile.pth", "w").write("import hostile_step\\n")
open(packages + "hostile_step.py", "w").write('''
import os, sys
if os.getuid() == 0:
    sys.exit("this step runs as root")
''')
setup(name="hostile", version="1")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as workers that make sandboxes")
async def test_a_build_cannot_make_a_later_step_run_as_root(
    platform: FakePlatform, hostile: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("import muster\nmuster.trial().report(1, loss=1.0)\n")
    (tmp_path / "requirements.txt").write_text("./hostile-1.tar.gz\n")
    with tarfile.open(tmp_path / "hostile-1.tar.gz", "w:gz") as archive:
        for name, text in {
            "setup.py": SETUP,
            "PKG-INFO": "Metadata-Version: 2.1\nName: hostile\nVersion: 1\n",
        }.items():
            entry = tarfile.TarInfo(f"hostile-1/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    code = platform.add_code(tmp_path)
    run = platform.allocation("installs", code, ONE, spec={"requirements": "requirements.txt"})
    await platform.desire("h1", run)
    await eventually(lambda: state_of(platform, run, "h1") == "exited", 120)
    ended = platform.of("h1", run)
    assert ended is not None
    assert "runs as root" not in f"{ended.reason}{platform.text(run)}"
    assert not ended.fault, ended.reason
