"""A rank looks for another tenant's secrets in the memory that it inherits from the warm parent, which started both."""

from collections.abc import Callable
from pathlib import Path

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="m1", slots=1),)
SECRET = "a-password-of-another-tenant"
SEARCH = """
import muster, re
trial = muster.trial()
found = set()
with open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in open("/proc/self/maps"):
        start, end = (int(one, 16) for one in line.split()[0].split("-"))
        if "r" not in line.split()[1] or end - start > 2**30 or "[v" in line:
            continue
        try:
            memory.seek(start)
            data = memory.read(end - start)
        except (OSError, ValueError, OverflowError):
            continue
        # Put together here, so that the script itself does not contain it.
        for name in ("-".join(("a", "password", "of", "another", "tenant")), "MUSTER_TOKEN"):
            if name.encode() in data:
                found.add(name)
print("searched; found", sorted(found))
trial.report(1, found=len(found - {"MUSTER_TOKEN"}), own=len(found & {"MUSTER_TOKEN"}))
"""


async def test_a_rank_inherits_nothing_of_other_runs(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("m1")
    daemon.start(MUSTER_WORKER__SLOTS="2")
    await eventually(lambda: "m1" in platform.observed)
    (tmp_path / "train.py").write_text("import muster\nmuster.trial().report(1, loss=1.0)\n")
    spec = {"environment": {f"PASSWORD_{at}": f"{SECRET}{at}" for at in range(200)}}
    runs = [platform.allocation(f"rich-{at}", platform.add_code(tmp_path), ONE, spec=spec) for at in range(3)]
    for run in runs:
        await platform.desire("m1", run)
        await eventually(lambda run=run: state_of(platform, run, "m1") == "exited")  # type: ignore[misc]
    (tmp_path / "train.py").write_text(SEARCH)
    search = platform.allocation("search", platform.add_code(tmp_path), ONE)
    await platform.desire("m1", search)
    await eventually(lambda: state_of(platform, search, "m1") == "exited")
    await eventually(lambda: "searched" in platform.text(search))
    print(platform.text(search))
    values = platform.reports[search.run_id][1].values
    assert values["own"] == 1, "the search finds what is there"
    assert values["found"] == 0
    await platform.desire("m1")
