"""A training that hangs is ended with the reason and the place; one that is only silent is not."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.support.processes import processes_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="w1", slots=1),)
TWO = (GangMember(worker="w1", slots=2),)
SOON = {"hang_timeout_s": 1.0, "start_timeout_s": 2.0}

STEPS = """
import muster, os, sys, threading, time
trial = muster.trial()
def wait_for_nobody():
    threading.Event().wait()
for step in range(1, 8):
    trial.report(step, loss=1.0, pid=float(os.getpid()))
"""

STEPS_TOGETHER = """
import muster, os, time
trial = muster.trial()
print("pid", os.getpid())
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, loss=1.0)
    time.sleep(0.01)
"""


async def _ended(
    platform: FakePlatform, run: DesiredAllocation, worker: str = "w1"
) -> tuple[str | None, str]:
    await eventually(lambda: state_of(platform, run, worker) == "exited")
    found = platform.of(worker, run)
    assert found is not None
    assert found.exit_code != 0 and not found.forced
    await platform.desire(worker)
    return found.fault, found.reason or ""


def _stop_rank(platform: FakePlatform, daemon: Daemon, run: DesiredAllocation, rank: int) -> None:
    said = next(
        line for line in platform.lines[run.run_id].values() if line.rank == rank and "pid" in line.text
    )
    os.kill(daemon.pid_of(run.run_id, int(said.text.split()[1])), signal.SIGSTOP)


async def test_a_training_that_hangs_is_ended_by_a_new_daemon_too_and_its_log_says_where(
    platform: FakePlatform, exchanging_worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, STEPS + "wait_for_nobody()\n"))
    run = platform.allocation("hangs", code, ONE, spec=SOON)
    await platform.desire("w1", run)
    await eventually(lambda: len(platform.steps(run)) == 7)
    exchanging_worker.kill()
    exchanging_worker.start(**TO_EXCHANGE)
    fault, reason = await _ended(platform, run)
    assert fault == "user"
    assert "the trial hangs" in reason and "hang_timeout" in reason
    await eventually(lambda: "the trial hangs" in platform.text(run))
    assert "rank 0 waits here" in platform.text(run)
    assert "in wait_for_nobody" in platform.text(run)


async def test_a_training_that_never_makes_a_step_is_ended_after_its_time_to_start(
    platform: FakePlatform, exchanging_worker: Daemon, tmp_path: Path
) -> None:
    script = STEPS.replace("for step", "wait_for_nobody()\nfor step")
    run = platform.allocation("never-starts", platform.add_code(code_in(tmp_path, script)), ONE, spec=SOON)
    await platform.desire("w1", run)
    fault, reason = await _ended(platform, run)
    assert fault == "user"
    assert "no step within" in reason and "start_timeout" in reason


async def test_a_process_that_outlives_its_script_is_ended_with_all_that_it_started(
    platform: FakePlatform, exchanging_worker: Daemon, tmp_path: Path
) -> None:
    script = f"import atexit, subprocess\n{STEPS}"
    script = script.replace("trial = muster", "atexit.register(lambda: wait_for_nobody())\ntrial = muster")
    script += "subprocess.Popen(['sleep', '1000.73'], start_new_session=True)\n"
    run = platform.allocation("lingers", platform.add_code(code_in(tmp_path, script)), ONE, spec=SOON)
    await platform.desire("w1", run)
    fault, reason = await _ended(platform, run)
    assert fault == "user" and "its processes still run (hang_timeout)" in reason
    assert len(platform.steps(run)) == 7, "what it reported is kept"
    await eventually(lambda: "in wait_for_nobody" in platform.text(run))
    await eventually(lambda: not processes_of("sleep 1000.73"))


async def test_a_gang_with_a_stopped_rank_hangs(
    platform: FakePlatform, exchanging_worker: Daemon, tmp_path: Path
) -> None:
    run = platform.allocation("stopped", platform.add_code(code_in(tmp_path, STEPS_TOGETHER)), TWO, spec=SOON)
    await platform.desire("w1", run)
    await eventually(lambda: platform.text(run).count("pid") == 2 and len(platform.steps(run)) > 20)
    _stop_rank(platform, exchanging_worker, run, 1)
    fault, reason = await _ended(platform, run)
    assert fault == "user" and "the trial hangs" in reason
    await eventually(lambda: "rank 1 waits here" in platform.text(run))
    assert "should_stop" in platform.text(run)
    assert "(no stack available)" in platform.text(run)


async def test_a_gang_over_two_workers_is_ended_where_both_say_that_it_hangs(
    platform: FakePlatform, exchanging_worker: Daemon, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    other = daemons("w2")
    other.start(**TO_EXCHANGE)
    await eventually(lambda: "w2" in platform.observed)
    members = (*ONE, GangMember(worker="w2", slots=1))
    code = platform.add_code(code_in(tmp_path, STEPS_TOGETHER))
    run = await begin_gang(platform, platform.allocation("apart", code, members, spec=SOON))
    await eventually(lambda: platform.text(run).count("pid") == 2 and len(platform.steps(run)) > 20)
    _stop_rank(platform, other, run, 1)
    for name in ("w1", "w2"):
        await eventually(lambda name=name: (found := platform.of(name, run)) is not None and found.hangs)  # type: ignore[misc]
        assert state_of(platform, run, name) == "running", "each sees its own ranks only"
    for name in ("w1", "w2"):
        await platform.desire(name, run.model_copy(update={"hangs": True}))
    for name in ("w1", "w2"):
        fault, reason = await _ended(platform, run, name)
        assert fault == "user" and "the trial hangs" in reason
    await eventually(lambda: all(f"rank {rank} waits here" in platform.text(run) for rank in (0, 1)))
    assert "(no stack available)" in platform.text(run)


async def test_who_computes_checkpoints_or_validates_for_long_is_left_alone(
    platform: FakePlatform, exchanging_worker: Daemon, tmp_path: Path
) -> None:
    script = (
        STEPS
        + """
with trial.checkpoint(7) as folder:
    (folder / "x").write_text("x")
    time.sleep(2.5)
with trial.busy():
    time.sleep(2.5)
until = time.monotonic() + 2.5
while time.monotonic() < until:
    sum(range(1000))
trial.validate(7, loss=1.0)
"""
    )
    run = platform.allocation("patience", platform.add_code(code_in(tmp_path, script)), ONE, spec=SOON)
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    found = platform.of("w1", run)
    assert found is not None
    assert (found.exit_code, found.reason, found.validations) == (0, None, 1)
    await platform.desire("w1")
