"""How trainings end that run out of memory, or whose loss is no number any more."""

from pathlib import Path

from shared.messages.allocations import DesiredAllocation, ObservedAllocation
from shared.messages.specs import Member, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

ONE = (Member(worker="w1", slots=1),)

DIVERGES = """
import muster
trial = muster.trial()
for step in range(1, 1000):
    trial.report(step, loss=float("nan") if step >= 5 else 1.0, grad_norm=float("nan"))
    if trial.should_stop():
        print("saved what there is")
        break
"""


async def _end(platform: FakePlatform, run: DesiredAllocation) -> ObservedAllocation:
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    found = platform.of("w1", run)
    assert found is not None
    await platform.desire("w1")
    return found


async def test_lack_of_memory_is_told_apart(platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    code = platform.add_code(code_in(tmp_path, "import torch\ntorch.empty(1 << 50)\n"))
    ended = await _end(platform, platform.allocation("memory", code, ONE))
    assert (ended.fault, ended.exit_code) == ("user", 1)
    assert "ran out of memory" in (ended.reason or "") and "can't allocate memory" in (ended.reason or "")


async def test_a_loss_that_is_no_number_changes_nothing_by_default(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, DIVERGES))
    ended = await _end(platform, platform.allocation("nan-continue", code, ONE))
    assert (ended.exit_code, ended.acknowledged, ended.step) == (0, None, 999)


async def test_a_trial_can_stop_where_its_loss_is_no_number(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, DIVERGES))
    run = platform.allocation("nan-stop", code, ONE, spec={"on_nan": "stop"})
    ended = await _end(platform, run)
    assert (ended.exit_code, ended.acknowledged, ended.step) == (0, Signal.STOP, 5)
    await eventually(lambda: "loss is NaN at step 5" in platform.text(run))
    assert "saved what there is" in platform.text(run)


async def test_a_trial_can_start_again_where_its_loss_is_no_number(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, DIVERGES))
    ended = await _end(platform, platform.allocation("nan-restart", code, ONE, spec={"on_nan": "restart"}))
    assert (ended.exit_code, ended.fault, ended.step) == (1, "user", 5)
    assert "loss is NaN at step 5" in (ended.reason or "")


async def test_a_trial_can_fail_for_good_where_its_loss_is_no_number(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, DIVERGES))
    ended = await _end(platform, platform.allocation("nan-fail", code, ONE, spec={"on_nan": "fail"}))
    assert (ended.exit_code, ended.fault, ended.step) == (1, "user", 5)
    assert [(met.name, met.action) for met in ended.policies] == [("on_nan", "cancel_retries")]
