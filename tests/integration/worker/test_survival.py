"""What is killed, and what goes on: daemons, ranks, warm parents, the platform itself."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

SCRIPT = """
import muster, os, time
trial = muster.trial()
step = 0
while not trial.should_stop():
    step += 1
    trial.report(step, pid=float(os.getpid()))
    if step % 20 == 0:
        trial.validate(step, loss=1.0)
    time.sleep(0.005)
print("stopped at", step)
"""


def _code(tmp_path: Path, script: str = SCRIPT) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(script)
    return folder


async def _start(platform: FakePlatform, daemon: Daemon, tmp_path: Path, script: str = SCRIPT):  # type: ignore[no-untyped-def]
    daemon.start()
    await eventually(lambda: daemon.name in platform.observed)
    members = (GangMember(worker=daemon.name, slots=1),)
    run = platform.allocation(f"run of {daemon.name}", platform.add_code(_code(tmp_path, script)), members)
    await platform.desire(daemon.name, run)
    await eventually(lambda: len(platform.steps(run)) > 10)
    return run


def _pid(platform: FakePlatform, daemon: Daemon, run) -> int:  # type: ignore[no-untyped-def]
    return daemon.pid_of(run.run_id, int(platform.reports[run.run_id][1].values["pid"]))


def _lives(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped by init does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _state(platform: FakePlatform, worker: str, run) -> str | None:  # type: ignore[no-untyped-def]
    found = platform.of(worker, run)
    return found.state if found else None


async def _stop_and_count(platform: FakePlatform, daemon: Daemon, run) -> None:  # type: ignore[no-untyped-def]
    """Stop the run, and find every report of it exactly once."""
    await platform.desire(daemon.name, run.model_copy(update={"signal": Signal.STOP}))
    await eventually(lambda: _state(platform, daemon.name, run) == "exited")
    ended = platform.of(daemon.name, run)
    assert ended is not None
    assert (ended.acknowledged, ended.exit_code) == (Signal.STOP, 0)
    last = ended.step
    expected = [step for step in range(1, last + 1) for _ in range(2 if step % 20 == 0 else 1)]
    await eventually(lambda: len(platform.steps(run)) == len(expected))
    assert platform.steps(run) == expected
    assert ended.validations == last // 20
    await eventually(lambda: f"stopped at {last}" in platform.text(run))
    assert platform.text(run).count("stopped at") == 1


async def test_a_killed_daemon_adopts_its_run(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("adopts")
    run = await _start(platform, daemon, tmp_path)
    pid, seen = _pid(platform, daemon, run), len(platform.steps(run))
    incarnation = platform.observed["adopts"].incarnation
    daemon.kill()
    await asyncio.sleep(0.5)
    assert _lives(pid)
    daemon.start()
    await eventually(lambda: platform.observed["adopts"].incarnation != incarnation)
    await eventually(lambda: len(platform.steps(run)) > seen + 100)
    await eventually(lambda: _state(platform, "adopts", run) == "running")
    await _stop_and_count(platform, daemon, run)


async def test_a_run_that_ends_while_its_daemon_is_dead_is_told_later(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    script = SCRIPT.replace("while not trial.should_stop():", "while step < 200 and not trial.should_stop():")
    daemon = daemons("late")
    run = await _start(platform, daemon, tmp_path, script)
    pid = _pid(platform, daemon, run)
    daemon.kill()
    await eventually(lambda: not _lives(pid))
    daemon.start()
    await eventually(lambda: _state(platform, "late", run) == "exited")
    ended = platform.of("late", run)
    assert ended is not None
    assert (ended.exit_code, ended.step, ended.validations) == (0, 200, 10)
    await eventually(lambda: platform.steps(run)[-1] == 200 and len(platform.steps(run)) == 210)
    await eventually(lambda: "stopped at 200" in platform.text(run))


async def test_a_killed_rank_is_told(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("rank")
    run = await _start(platform, daemon, tmp_path)
    os.kill(_pid(platform, daemon, run), signal.SIGKILL)
    await eventually(lambda: _state(platform, "rank", run) == "exited")
    ended = platform.of("rank", run)
    assert ended is not None
    assert (ended.exit_code, ended.fault) == (-9, "user")
    await eventually(lambda: bool(platform.steps(run)) and platform.steps(run)[-1] == ended.step)


async def test_a_killed_warm_parent_costs_the_user_nothing(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("parent")
    run = await _start(platform, daemon, tmp_path)
    pid = _pid(platform, daemon, run)
    os.kill(daemon.parent_pid, signal.SIGKILL)
    await eventually(lambda: not _lives(pid))
    await eventually(lambda: _state(platform, "parent", run) == "exited")
    ended = platform.of("parent", run)
    assert ended is not None
    assert (ended.fault, ended.exit_code) == ("machine", None)
    again = platform.allocation("after the parent", run.spec.code_hash, run.members)
    await platform.desire("parent", again)
    await eventually(lambda: len(platform.steps(again)) > 10)
    await _stop_and_count(platform, daemon, again)


async def test_no_healthy_rank_dies_while_the_platform_is_away(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("alone")
    run = await _start(platform, daemon, tmp_path)
    platform.away = True
    await asyncio.sleep(1)
    platform.servers.nats.kill()
    await asyncio.sleep(2)
    daemon.kill()
    daemon.start()
    await asyncio.sleep(2)
    assert _lives(_pid(platform, daemon, run))
    platform.servers.restart(platform.servers.nats)
    platform.away = False
    stored = len(platform.steps(run))
    await eventually(lambda: len(platform.steps(run)) > stored + 100)
    await _stop_and_count(platform, daemon, run)


async def test_an_adopted_parent_and_its_daemon_may_be_ended_together(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("together")
    run = await _start(platform, daemon, tmp_path)
    incarnation = platform.observed["together"].incarnation
    daemon.kill()
    daemon.start()
    await eventually(lambda: platform.observed["together"].incarnation != incarnation)
    await asyncio.sleep(0.5)
    pid, parent = _pid(platform, daemon, run), daemon.parent_pid
    daemon.freeze()  # it wakes to both at once: an end seen alone would rightly have it start a new parent
    os.kill(parent, signal.SIGTERM)
    daemon.end(daemon.pid)
    daemon.thaw()
    assert await asyncio.to_thread(daemon.stop) == 0
    await eventually(lambda: not _lives(pid) and not _lives(parent))
    assert daemon.parent_pid == parent


async def test_sigterm_ends_the_worker_and_all_it_holds(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path: Path
) -> None:
    daemon = daemons("term")
    run = await _start(platform, daemon, tmp_path)
    pid, parent = _pid(platform, daemon, run), daemon.parent_pid
    assert await asyncio.to_thread(daemon.stop) == 0
    await eventually(lambda: not _lives(pid) and not _lives(parent))
    ended = platform.of("term", run)
    assert ended is not None
    assert (ended.state, ended.fault, ended.reason) == ("exited", "machine", "the worker was stopped")
