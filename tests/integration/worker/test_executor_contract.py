"""What a run may expect, whichever executor it uses: in a sandbox of processes and in a container."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages.allocations import DesiredAllocation, ObservedAllocation
from shared.messages.trial_specs import Signal
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.executors import Executor
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.integration.worker.test_resize import RANGE, SCRIPT as ELASTIC, form, formed, sizes
from tests.integration.worker.test_runs import TRAIN
from tests.support.processes import processes_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(
    os.environ.get("CI") != "true" and os.geteuid() != 0, reason="needs root, as workers that make sandboxes"
)
LIMITS = {"MUSTER_WORKER__SLOT_MEMORY_BYTES": str(400 * 2**20), "MUSTER_WORKER__SLOT_PROCESSES": "60"}
FOR_TORCH = {"MUSTER_WORKER__SLOT_MEMORY_BYTES": str(2**31)}

ENDLESS = """
import muster, os, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, pid=float(os.getpid()))
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
async def worker(executor: Executor, platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    return await heard(platform, daemons(executor.worker(1)), **executor.settings, **LIMITS)


@pytest.fixture(scope="module")
async def two(executor: Executor, platform: FakePlatform, daemons: Callable[[str], Daemon]) -> None:
    """Workers 2 and 3, whose ranks import torch."""
    for number in (2, 3):
        daemon = daemons(executor.worker(number))
        await heard(platform, daemon, **executor.settings, **FOR_TORCH, **TO_EXCHANGE)


async def begun(executor: Executor, run: DesiredAllocation, steps: int = 3) -> DesiredAllocation:
    await executor.platform.desire(executor.worker(1), run)
    await eventually(lambda: len(executor.platform.steps(run)) >= steps)
    return run


async def ended(
    executor: Executor, run: DesiredAllocation, number: int = 1, then: Signal | None = None
) -> ObservedAllocation:
    """Wait for the end of a run, to whom `then` is told before."""
    name = executor.worker(number)
    if then is not None:
        run = run.model_copy(update={"signal": then})
    await executor.platform.desire(name, run)
    await eventually(lambda: state_of(executor.platform, run, name) == "exited")
    found = executor.platform.of(name, run)
    assert found is not None
    return found


async def test_start(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    """A run is another user than the worker, has its hyperparameters, its code and its hook, and tells everything."""
    said = """
import os
print("user", os.getuid() > 0, "hook", open("hooked").read().strip())
"""
    folder = code_in(tmp_path, said + TRAIN)
    (folder / "startup-hook.sh").write_text("echo ran > hooked\n")
    found = await ended(executor, run := executor.run("start", folder))
    assert (found.exit_code, found.fault, found.reason) == (0, None, None), platform.text(run)
    assert (found.step, found.validations) == (40, 4)
    await eventually(lambda: len(platform.reports[run.run_id]) == 44)
    await eventually(lambda: "user True hook ran" in platform.text(run))
    assert "hello from 0 0.1 mine" in platform.text(run)


async def test_signals(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    code = code_in(tmp_path, ENDLESS)
    for told in (Signal.STOP, Signal.PAUSE, Signal.PREEMPT):
        run = await begun(executor, executor.run(f"signal {told}", code))
        found = await ended(executor, run, then=told)
        assert (found.acknowledged, found.exit_code, found.forced) == (told, 0, False)
    killed = await begun(executor, executor.run("killed", code))
    assert (await ended(executor, killed, then=Signal.KILL)).exit_code != 0
    deaf = code_in(tmp_path, "import muster, time\nmuster.trial().report(1, a=1)\ntime.sleep(1000)\n")
    run = await begun(executor, executor.run("deaf", deaf, preemption_timeout_s=0.5), steps=1)
    assert (await ended(executor, run, then=Signal.PREEMPT)).forced


async def test_exit_codes(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    for script, code in (
        ("raise SystemExit(5)\n", 5),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", -9),
        ("raise ValueError('of the script')\n", 1),
    ):
        run = executor.run(f"exit {code}", code_in(tmp_path, script))
        found = await ended(executor, run)
        assert (found.exit_code, found.fault) == (code, "user"), found.reason
    await eventually(lambda: "ValueError: of the script" in platform.text(run))
    outside = await begun(executor, executor.run("killed from outside", code_in(tmp_path, ENDLESS)))
    number = int(platform.reports[outside.run_id][1].values["pid"])
    os.kill(worker.pid_of(outside.run_id, number), signal.SIGKILL)
    found = await ended(executor, outside)
    assert (found.exit_code, found.fault) == (-9, "user")


async def test_limits(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    hoards = "x = bytearray(2**30)\nfor at in range(0, 2**30, 4096):\n    x[at] = 1\nprint('had it')\n"
    forks = """
import subprocess
started = []
try:
    while len(started) < 200:
        started.append(subprocess.Popen(["/bin/sleep", "600"]))
except OSError as error:
    print("stopped after", len(started) < 60, error)
"""
    greedy = executor.run("greedy", code_in(tmp_path, hoards))
    found = await ended(executor, greedy)
    assert (found.exit_code, found.fault) == (-9, "user"), (found.reason, platform.text(greedy))
    assert "had it" not in platform.text(greedy)
    bomb = executor.run("bomb", code_in(tmp_path, forks))
    await ended(executor, bomb)
    await eventually(lambda: "stopped after True" in platform.text(bomb))


async def test_logs(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    """Both streams, of the script, of what it starts and of the system's calls, to the last line."""
    script = """
import os, subprocess, sys
print("by print")
print("by error", file=sys.stderr)
os.write(1, b"by call\\n")
subprocess.run(["/bin/sh", "-c", "echo by child; echo child error >&2"])
for number in range(2000):
    print("line", number)
print("without an end", end="")
"""
    run = executor.run("logs", code_in(tmp_path, script))
    assert (await ended(executor, run)).exit_code == 0
    await eventually(lambda: "without an end" in platform.text(run))
    lines = list(platform.lines[run.run_id].values())
    texts = [line.text for line in lines]
    assert {"by print", "by error", "by call", "by child", "child error"} <= set(texts)
    assert [text for text in texts if text.startswith("line ")] == [f"line {n}" for n in range(2000)]


async def test_checkpoints(
    executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """What is saved is stored, and the next run goes on from it."""
    code = code_in(tmp_path, TRAIN)
    platform.saved.clear()
    first = executor.run("saves", code)
    assert (await ended(executor, first)).checkpoints == 4
    await eventually(lambda: [saved.step for saved in platform.saved_of(first)] == [10, 20, 30, 40])
    sizes = {entry.path: entry.size_bytes for entry in platform.saved_of(first)[-1].files}
    assert sizes == {"step": 2, "deep/bytes": 100_000}
    second = executor.run("goes on", code, run_number=2, token=2)
    assert (await ended(executor, second)).exit_code == 0, platform.text(second)
    await eventually(lambda: bool(platform.steps(second)) and platform.steps(second)[-1] == 80)
    assert platform.steps(second)[0] == 41


async def test_adoption_after_a_daemon_restart(
    executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    """Its processes train on while there is no daemon, and nothing that they say is lost or told twice."""
    run = await begun(executor, executor.run("adopted", code_in(tmp_path, ENDLESS)))
    containers = executor.containers()
    worker.kill()
    worker.start_again()
    seen = len(platform.steps(run))
    await eventually(lambda: len(platform.steps(run)) > seen + 20)
    assert executor.containers() == containers
    found = await ended(executor, run, then=Signal.STOP)
    assert (found.exit_code, found.acknowledged) == (0, Signal.STOP)
    await eventually(lambda: platform.steps(run) == list(range(1, found.step + 1)))
    assert len({report.values["pid"] for report in platform.reports[run.run_id].values()}) == 1


async def test_hang_detection(
    executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    script = """
import muster, threading
trial = muster.trial()
def wait_for_nobody():
    threading.Event().wait()
for step in range(1, 8):
    trial.report(step, loss=1.0)
wait_for_nobody()
"""
    soon = {"hang_timeout_s": 1.0, "start_timeout_s": 2.0}
    run = executor.run("hangs", code_in(tmp_path, script), spec=soon)
    found = await ended(executor, run)
    assert found.fault == "user" and "the trial hangs" in (found.reason or ""), found.reason
    await eventually(lambda: "in wait_for_nobody" in platform.text(run))


async def test_profiling(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    script = ENDLESS.replace("time.sleep(0.01)", "sum(range(100_000))")
    run = executor.run("profiled", code_in(tmp_path, script), spec={"profiling": {"enabled": True}})
    await begun(executor, run)
    told = platform.profiles[run.run_id]
    await eventually(lambda: sum(one.group == "system" for one in told) >= 2)
    assert (await ended(executor, run, then=Signal.STOP)).exit_code == 0
    used = [one.values for one in told if one.group == "system"]
    assert all(values["memory_bytes"] > 2**20 and values["processes"] >= 1 for values in used)
    assert any(values["cpu_cores"] > 0 for values in used)


async def test_clean_up(executor: Executor, platform: FakePlatform, worker: Daemon, tmp_path: Path) -> None:
    """Nothing is left of a run once the scheduler drops it, however it ended: no process, no file, no container."""
    name, sleeps = executor.worker(1), f"sleep 1000.{os.getpid()}"
    leaves = f"import os\nos.system('setsid {sleeps} &')\n"
    done = executor.run("done", code_in(tmp_path, leaves))
    killed = executor.run("to be killed", code_in(tmp_path, leaves + ENDLESS))
    await platform.desire(name, done)
    await begun(executor, killed)
    await ended(executor, killed, then=Signal.KILL)
    await platform.desire(name)
    await eventually(lambda: platform.observed[name].drained)
    await eventually(lambda: not list((worker.directory / "runs").iterdir()))
    await eventually(lambda: not processes_of(sleeps))
    await eventually(lambda: executor.containers() == [])


async def test_a_gang_over_two_workers(
    executor: Executor, platform: FakePlatform, two: None, tmp_path: Path
) -> None:
    """Its ranks exchange values, and save one checkpoint together."""
    script = """
import muster, torch, horovod.torch as hvd
trial = muster.trial()
total = hvd.allreduce(torch.tensor([float(trial.rank + 1)]), op=hvd.Sum)
trial.report(1, total=float(total), size=trial.size)
with trial.checkpoint(1) as folder:
    (folder / f"shard-{trial.rank}").write_text("whole")
print("rank", trial.rank, "has", float(total), "with", hvd.__file__)
"""
    run = executor.run("gang", code_in(tmp_path, script), (2, 3), has_torch=True)
    met = await begin_gang(platform, run)
    for number in (2, 3):
        found = await ended(executor, met, number)
        assert found.exit_code == 0, platform.text(run)
    wanted = f"has 3.0 with {executor.horovod}/horovod/"
    await eventually(lambda: platform.text(run).count(wanted) == 2)
    assert [report.values for report in platform.reports[run.run_id].values()] == [
        {"total": 3.0, "size": 2.0}
    ]
    await eventually(lambda: len(platform.saved_of(run)) == 1)
    assert [entry.path for entry in platform.saved_of(run)[0].files] == ["shard-0", "shard-1"]


async def test_elastic_resize(executor: Executor, platform: FakePlatform, two: None, tmp_path: Path) -> None:
    """A run grows and shrinks while it trains, and loses no step."""
    names = (executor.worker(2), executor.worker(3))
    run = executor.run("elastic", code_in(tmp_path, ELASTIC), (2,), has_torch=True, spec=RANGE)
    both = executor.run("elastic", tmp_path / "code", (2, 3)).members
    await platform.desire(names[0], run)
    await eventually(lambda: len(sizes(platform, run)) > 5)
    await form(platform, formed(run, 2, *both), names)
    await eventually(lambda: sizes(platform, run)[-1] == 2)
    alone = await form(platform, formed(run, 3, both[0]), names)
    await eventually(lambda: sizes(platform, run)[-1] == 1)
    await eventually(lambda: state_of(platform, run, names[1]) == "exited")
    assert platform.of(names[1], run).exit_code == 0  # type: ignore[union-attr]
    found = await ended(executor, alone, 2, then=Signal.PAUSE)
    assert (found.exit_code, found.acknowledged) == (0, Signal.PAUSE), platform.text(run)
    steps = platform.steps(run)
    assert steps == list(range(1, len(steps) + 1))
