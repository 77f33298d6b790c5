"""What pip runs for a trial has the limits of a run."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as workers that make sandboxes")
SAY = """
def say(text):
    print("ERROR: " + text, flush=True)
    raise SystemExit(1)
"""
BUILDS = {
    "processes": """
import os, signal, time
made = 0
try:
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError as error:
    say(f"stopped after {made} processes: {error}")
say(f"REACHED {made} processes")
""",
    "memory": """
import subprocess, sys
script = "held = bytearray(900 << 20)\\nfor at in range(0, len(held), 4096): held[at] = 1"
ended = subprocess.run([sys.executable, "-c", script]).returncode
say(f"REACHED 900 MiB" if ended == 0 else f"stopped with {ended}")
""",
    "memory of several": """
import subprocess, sys, time
script = "import time\\nheld = bytearray(300 << 20)\\nfor at in range(0, len(held), 4096): held[at] = 1\\nprint('held', flush=True)\\ntime.sleep(5)"
each = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) for _ in range(4)]
held = [b"held" in one.stdout.readline() for one in each]
say(f"REACHED 1200 MiB" if all(held) else f"stopped: {held}")
""",
    "disk": """
import os
total = 0
try:
    for number in range(40):
        with open(os.environ["TMPDIR"] + f"/{number}", "wb") as file:
            for _ in range(16):
                total += file.write(bytes(1 << 20))
        import time
        time.sleep(0.3)
except OSError as error:
    say(f"stopped after {total >> 20} MiB: {error}")
say(f"REACHED {total >> 20} MiB")
""",
    "one file": """
import os
try:
    with open(os.environ["TMPDIR"] + "/large", "wb") as file:
        file.truncate(1 << 40)
except OSError as error:
    say(f"stopped: {error}")
say("REACHED a TiB")
""",
}


@pytest.fixture(scope="module")
async def limited(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    limits = {"SLOT_MEMORY_BYTES": 600 << 20, "SLOT_PROCESSES": 64, "RUN_BYTES": 256 << 20}
    return await heard(
        platform, daemons("w1"), **{f"MUSTER_WORKER__{name}": str(value) for name, value in limits.items()}
    )


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
async def test_a_build_exhausts_nothing_of_the_machine(
    platform: FakePlatform, limited: Daemon, tmp_path: Path, build: str
) -> None:
    (tmp_path / "train.py").write_text("import muster\nmuster.trial().report(1, loss=1.0)\n")
    (tmp_path / "requirements.txt").write_text("./hostile-1.tar.gz\n")
    with tarfile.open(tmp_path / "hostile-1.tar.gz", "w:gz") as archive:
        about = "Metadata-Version: 2.1\nName: hostile\nVersion: 1\n"
        for name, text in {"setup.py": SAY + build, "PKG-INFO": about}.items():
            entry = tarfile.TarInfo(f"hostile-1/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    run = platform.allocation(
        f"builds {build}", platform.add_code(tmp_path), ONE, spec={"requirements": "requirements.txt"}
    )
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited", 120)
    ended = platform.of("w1", run)
    await platform.desire("w1")
    assert ended is not None
    print(ended.reason)
    assert "REACHED" not in f"{ended.reason}{platform.text(run)}"
    assert "stopped" in f"{ended.reason}"
