"""A trial ends before it has used up the files or the space of the worker's disk, however it hides them."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.servers import Servers
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
DISK_BYTES, FILES, RUN_BYTES = 96 << 20, 6000, 32 << 20
ONE = (GangMember(worker="small", slots=1),)
WRITES = {
    "empty files": """
for number in range(100000):
    open(f"{folder}/{number}", "w").close()
    if number % 500 == 499: time.sleep(1)
""",
    "folders": """
for number in range(100000):
    os.mkdir(f"{folder}/{number}")
    if number % 500 == 499: time.sleep(1)
""",
    "links": """
for number in range(100000):
    os.symlink("x", f"{folder}/{number}")
    if number % 500 == 499: time.sleep(1)
""",
    "files that it deletes while they are open": """
kept = []
for number in range(100000):
    file = open(f"{folder}/{number}", "wb")
    os.unlink(file.name)
    kept.append(file)
    for _ in range(10):
        file.write(bytes(1 << 20))
    file.flush()
    time.sleep(1.5)
""",
}
PLACES = ("code", "tmp", "home", "checkpoints", "spool", "tensorboard", "watch", "logs")
SCRIPT = """
import os, time
run = os.path.dirname(os.environ["MUSTER_TRIAL"])
folder = run + "/PLACE" if "PLACE" != "tmp" else "/tmp"
try:
WRITES
except OSError as error:
    print("full:", error, flush=True)
time.sleep(100)
"""


@pytest.fixture(scope="module")
async def small(
    platform: FakePlatform, servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Daemon]:
    disk = tmp_path_factory.mktemp("disk")
    options = f"size={DISK_BYTES},nr_inodes={FILES},mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "small", str(disk)], check=True)
    daemon = Daemon(servers, "small", disk / "worker")
    try:
        yield await heard(
            platform,
            daemon,
            MUSTER_WORKER__RUN_BYTES=str(RUN_BYTES),
            MUSTER_WORKER__MIN_FREE_BYTES=str(4 << 20),
        )
        daemon.stop()
    finally:
        daemon.clear_away()
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


CASES = [("code", how) for how in WRITES] + [(place, "empty files") for place in PLACES if place != "code"]


@pytest.mark.parametrize(("place", "how"), CASES)
async def test_the_run_ends_before_the_disk_is_full(
    platform: FakePlatform, small: Daemon, tmp_path: Path, place: str, how: str
) -> None:
    body = "\n".join("    " + line for line in WRITES[how].strip().splitlines())
    script = SCRIPT.replace("PLACE", place).replace("WRITES", body)
    run = await started(platform, tmp_path, script, f"{place} {how}")
    await eventually(lambda: state_of(platform, run, "small") == "exited" or "full" in platform.text(run), 40)
    found = platform.of("small", run)
    assert found is not None
    assert "full" not in platform.text(run)
    assert (found.fault, "MUSTER_WORKER__RUN_BYTES" in (found.reason or "")) == ("user", True), found.reason
    next_one = await started(
        platform, tmp_path, "import muster\nmuster.trial().report(1, loss=1.0)\n", f"after {place} {how}"
    )
    await eventually(lambda: state_of(platform, next_one, "small") == "exited")
    assert getattr(platform.of("small", next_one), "exit_code", None) == 0
    await platform.desire("small")


async def started(platform: FakePlatform, tmp_path: Path, script: str, name: str) -> DesiredAllocation:
    run = platform.allocation(name, platform.add_code(code_in(tmp_path, script)), ONE)
    await platform.desire("small", run)
    return run
