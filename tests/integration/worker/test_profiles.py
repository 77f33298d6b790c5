"""What a worker measures of a run that asks for it, and what it leaves alone."""

from pathlib import Path

import pytest

from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)

LOADS = """
import time
import muster, torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.zeros(4), index

trial = muster.trial()
for step, (features, wanted) in enumerate(DataLoader(Slow(), batch_size=5), start=1):
    until = time.monotonic() + 0.01
    while time.monotonic() < until:
        pass
    trial.report(step, loss=1.0)
    if trial.should_stop():
        break
"""


async def test_a_profiled_run_tells_what_it_uses_and_where_its_time_goes(
    platform: FakePlatform, torch_worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, LOADS))
    run = platform.allocation("profiled", code, ONE, spec={"profiling": {"enabled": True}})
    plain = platform.allocation("plain", code, ONE)
    await platform.desire("w1", run, plain)
    told = platform.profiles[run.run_id]
    await eventually(lambda: {"system", "timing"} <= {report.group for report in told})
    stop = {"signal": Signal.STOP}
    await platform.desire("w1", run.model_copy(update=stop), plain.model_copy(update=stop))
    await eventually(lambda: state_of(platform, run) == state_of(platform, plain) == "exited")
    await platform.desire("w1")
    await eventually(lambda: not list((torch_worker.directory / "runs").iterdir()))

    timings = [report for report in told if report.group == "timing"]
    for report in timings:
        values = report.values
        assert values["data_s"] >= 0.02 and values["compute_s"] >= 0.01
        parts = values["data_s"] + values["communication_s"] + values["busy_s"] + values["compute_s"]
        assert parts == pytest.approx(values["step_s"])
        assert values["samples_per_s"] == pytest.approx(5 * values["steps_per_s"])
        assert 0 < report.step <= len(platform.reports[run.run_id])
    used = [report.values for report in told if report.group == "system"]
    assert all(values["memory_bytes"] > 1024**2 and values["processes"] >= 1 for values in used)
    assert any(values["cpu_cores"] > 0 for values in used)
    assert not platform.profiles[plain.run_id], "what nobody asked for is not measured"
