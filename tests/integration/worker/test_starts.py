"""A machine that can start nothing: what waits there fails at no cost and goes elsewhere, and the machine says why."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from muster import wire
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in
from tests.support.waiting import eventually
from worker.executors import process, start_failures
from worker.executors.interface import ExecutorEvents
from worker.executors.parents import MachineParent
from worker.executors.process import ProcessExecutor, parent_environment

Told = dict[str, wire.ProcessFrame]
Make = Callable[[str], ProcessExecutor]


@pytest.fixture
def told() -> Told:
    return {}


@pytest.fixture
async def make(tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """An executor whose warm parents are of this interpreter, each started at once after the one before."""
    monkeypatch.setattr(process, "START_AGAIN_S", 0.0)
    made: list[tuple[ProcessExecutor, asyncio.Task[None]]] = []

    def begin(interpreter: str) -> ProcessExecutor:
        events = ExecutorEvents(lambda one: told.update({one.name: one}), lambda: None)
        environment = parent_environment(dict(os.environ))
        executor = ProcessExecutor(MachineParent(tmp_path, "muster._trial", environment, interpreter), events)
        made.append((executor, asyncio.get_running_loop().create_task(executor.run())))
        return executor

    yield begin
    for executor, task in made:
        await executor.quit()
        await task


def launch(folder: Path, name: str, run: str = "run") -> wire.Launch:
    out = str(folder / f"{name}.out")
    return wire.Launch(name, run, "true", str(folder), out, out, {"PATH": os.defpath})


def script_in(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_the_third_start_that_fails_ends_what_waits(make: Make, told: Told, tmp_path: Path) -> None:
    count = tmp_path / "count"
    executor = make(script_in(tmp_path, f"echo x >> {count}; echo no such library >&2; exit 1"))
    executor.send(launch(tmp_path, "rank"))
    executor.send(wire.OpenRendezvous("meeting", "other", "a:1", 1, "127.0.0.1"))
    await eventually(lambda: {"rank", "meeting"} <= told.keys())
    assert count.read_text().count("x") >= 3
    assert executor.trouble is not None
    for one in told.values():
        assert one.exit_code == 1
        assert "3 starts in a row failed, the last with: no such library; fix the error in" in one.error
        assert str(tmp_path / "parent.log") in one.error


async def test_what_comes_later_is_told_too_and_the_first_start_that_succeeds_ends_it(
    make: Make, told: Told, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    executor = make(script_in(tmp_path, f'[ -e {broken} ] && exit 7\nexec {sys.executable} "$@"'))
    await eventually(lambda: executor.trouble is not None)
    assert "it ended with exit code 7" in str(executor.trouble)
    executor.send(launch(tmp_path, "late"))
    await eventually(lambda: "late" in told)
    broken.unlink()
    await eventually(lambda: executor.is_ready)
    assert executor.trouble is None
    executor.send(launch(tmp_path, "after"))
    await eventually(lambda: "after" in told and told["after"].exit_code == 0)


async def test_a_parent_that_hangs_at_its_start_has_failed(
    make: Make, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "READY_WITHIN_S", 0.2)
    executor = make(script_in(tmp_path, "exec sleep 600"))
    executor.send(launch(tmp_path, "rank"))
    await eventually(lambda: "rank" in told)
    assert "it was not ready after" in told["rank"].error


async def test_starts_that_fail_exclude_the_machine_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = start_failures.StartFailures(tmp_path / "parent.log")
    for _ in range(3):
        failing.launch_failed("one", "out of memory")
    assert failing.trouble is None, "the ranks of one run are one start"
    failing.launch_failed("two", "out of memory")
    failing.launch_failed("three", "out of memory")
    assert str(failing.trouble) == (
        "3 starts in a row failed, the last with: out of memory; end processes or free memory there"
    )
    monkeypatch.setattr(start_failures, "EXCLUDED_S", 0.0)
    failing.launch_failed("four", "out of memory")
    assert failing.trouble is None, "it is tried again after a while"
    failing.launch_failed("five", "out of memory")
    failing.worked()
    monkeypatch.setattr(start_failures, "EXCLUDED_S", 60.0)
    failing.launch_failed("six", "out of memory")
    assert failing.trouble is None, "only failures in a row count"


async def test_a_run_on_such_a_machine_costs_its_trial_nothing(
    platform: FakePlatform, tmp_path: Path
) -> None:
    daemon = Daemon(platform.servers, "startless", tmp_path / "startless")
    in_the_way = daemon.directory / "parent" / "parent.lock"
    in_the_way.mkdir(parents=True)
    daemon.start()
    try:
        await eventually(lambda: daemon.name in platform.observed)
        code = platform.add_code(code_in(tmp_path, "print('trains')"))
        members = (GangMember(worker=daemon.name, slots=1),)
        run = platform.allocation("startless", code, members)
        await platform.desire(daemon.name, run)
        await eventually(lambda: getattr(platform.of(daemon.name, run), "state", "") == "exited")
        ended = platform.of(daemon.name, run)
        assert ended is not None and (ended.fault, ended.exit_code) == ("machine", None)
        assert (
            "this machine cannot start processes: 3 starts in a row failed, the last with: IsADirectoryError"
            in str(ended.reason)
        )
        trouble = str(platform.observed[daemon.name].trouble)
        assert trouble.startswith("worker startless cannot start processes: 3 starts in a row failed, ")
        assert trouble.endswith(f"fix the error in {daemon.directory / 'parent' / 'parent.log'}")
        in_the_way.rmdir()
        await eventually(lambda: platform.observed[daemon.name].trouble is None)
        again = platform.allocation("startless-again", code, members)
        await platform.desire(daemon.name, again)
        await eventually(lambda: getattr(platform.of(daemon.name, again), "state", "") == "exited")
        assert getattr(platform.of(daemon.name, again), "exit_code", None) == 0
    finally:
        daemon.clear_away()
