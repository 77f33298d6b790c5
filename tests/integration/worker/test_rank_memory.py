"""What a rank's memory costs it, as the operating system counts."""

from pathlib import Path

import pytest

from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually

FREES_AND_TAKES = """
import muster, resource
trial = muster.trial()
def step():
    activations = [bytearray(4 << 20) for _ in range(12)]
    del activations
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
before = faults()
for _ in range(10):
    step()
trial.report(1, faults=faults() - before)
"""
PAGES = 10 * 12 * 1024  # of four KiB, were each step to take its memory anew


@pytest.mark.parametrize(
    "entrypoint", ["python3 train.py", ["sh", "-c", "python3 train.py"]], ids=["forked", "begun anew"]
)
async def test_what_a_step_frees_is_there_for_the_next(
    platform: FakePlatform, worker: Daemon, tmp_path: Path, entrypoint: str | list[str]
) -> None:
    code = platform.add_code(code_in(tmp_path, FREES_AND_TAKES))
    run = platform.allocation(f"memory {entrypoint[0]}", code, ONE, spec={"entrypoint": entrypoint})
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited" and len(platform.reports[run.run_id]) == 1)
    assert platform.reports[run.run_id][1].values["faults"] < PAGES / 20
    await platform.desire("w1")
