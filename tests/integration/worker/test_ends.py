"""How trainings end that run out of memory, whose loss is no number any more, or whose machine is taken back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.errors import Transient
from shared.messages.allocations import DesiredAllocation, ObservedAllocation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.metadata import ACTION, Metadata
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually
from worker.machine.cgroups import Bounds, claim_trees

ONE = (GangMember(worker="w1", slots=1),)

DIVERGES = """
import muster
trial = muster.trial()
for step in range(1, 1000):
    trial.report(step, loss=float("nan") if step >= 5 else 1.0, grad_norm=float("nan"))
    if trial.should_stop():
        print("saved what there is")
        break
"""


@asynccontextmanager
async def _set(platform: FakePlatform, worker: Daemon, **settings: str) -> AsyncIterator[None]:
    """The worker's daemon with these settings, and after that without; its warm parent lives on."""
    for given in (settings, {}):
        worker.kill()
        worker.start(**given)
        await eventually(lambda: _answers(platform))
        if given:
            yield


async def _answers(platform: FakePlatform) -> bool:
    """Whether there is a daemon; a last heartbeat of the one before may still come, and is none."""
    try:
        await platform.desire("w1")
    except Transient:
        return False
    return True


def _left_s(platform: FakePlatform) -> float | None:
    leaving = platform.observed["w1"].leaving
    return leaving.in_s if leaving else None


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


async def test_a_trial_saves_within_the_notice_of_a_cloud(
    platform: FakePlatform, worker: Daemon, metadata: Metadata, tmp_path: Path
) -> None:
    """The scheduler's part, which answers the notice with a signal, is this test's (see `test_leaving`)."""
    script = """
import muster, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, loss=1.0)
    time.sleep(0.01)
with trial.checkpoint(step) as folder:
    (folder / "model").write_text(str(step))
"""
    async with _set(platform, worker, MUSTER_WORKER__CLOUD="aws", MUSTER_WORKER__METADATA_URL=metadata.url):
        run = platform.allocation("spot", platform.add_code(code_in(tmp_path, script)), ONE)
        await platform.desire("w1", run)
        await eventually(lambda: len(platform.steps(run)) > 5)
        at = datetime.now(UTC) + timedelta(seconds=120)
        metadata.says[ACTION] = f'{{"action": "terminate", "time": "{at.isoformat()}"}}'
        await eventually(lambda: 0 < (_left_s(platform) or 0) <= 120)
        await platform.desire("w1", run.model_copy(update={"signal": Signal.PREEMPT}))
        await eventually(lambda: state_of(platform, run) == "exited")
        assert platform.of("w1", run).acknowledged is Signal.PREEMPT  # type: ignore[union-attr]
        await eventually(lambda: len(platform.saved_of(run)) == 1)
        assert platform.saved_of(run)[0].step == max(platform.steps(run))
        await eventually(lambda: "AWS reclaims this spot instance (terminate)" in platform.text(run))
        await platform.desire("w1")


async def test_the_kernel_bounds_what_a_run_takes_where_the_worker_may_ask_it_to(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    bounds = Bounds(memory_bytes=256 * 2**20, processes=40)
    try:
        claim_trees(bounds)
    except OSError as error:
        pytest.skip(f"no control groups here: {error}")
    async with _set(
        platform,
        worker,
        MUSTER_WORKER__SLOT_MEMORY_BYTES=str(bounds.memory_bytes),
        MUSTER_WORKER__SLOT_PROCESSES=str(bounds.processes),
    ):
        code = platform.add_code(code_in(tmp_path, "held = bytearray(1 << 30)\n"))
        greedy = platform.allocation("too-much", code, ONE)
        ended = await _end(platform, greedy)
        assert (ended.fault, ended.exit_code) == ("user", -9)
        assert "because memory ran out" in (ended.reason or "")
        script = "import subprocess\nfor _ in range(100):\n    subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        run = platform.allocation("too-many", platform.add_code(code_in(tmp_path, script)), ONE)
        ended = await _end(platform, run)
        assert (ended.fault, ended.exit_code) == ("user", 1)
        assert "Resource temporarily unavailable" in (ended.reason or "")
        names = [f"muster-w1-{one.run_id}" for one in (greedy, run)]
        await eventually(
            lambda: (
                not [name for tree in claim_trees(bounds) for name in names if (tree.base / name).exists()]
            )
        )
