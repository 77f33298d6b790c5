"""Warm parents inside a sandbox: whatever a run makes of its own, no other run notices."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster import wire
from tests.support.waiting import eventually
from worker.executors import process as process_module
from worker.executors.interface import ExecutorEvents, Order
from worker.executors.parents import MachineParent, SandboxedParent
from worker.executors.process import ProcessExecutor, parent_environment
from worker.executors.run_sandbox import StartCommand

RUN = "0a0a0a0a-0000-4000-8000-000000000001"
OTHER = "0b0b0b0b-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class PidNamespace:
    """The least of a sandbox: a PID namespace, and nothing hidden."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "parent"

    @property
    def launches(self) -> Path:
        return self.root / "launches"

    @property
    def owner(self) -> int | None:
        return None

    @property
    def log(self) -> Path:
        return self.root / "parent.log"

    def start_command(self, arguments: Sequence[str]) -> StartCommand:
        unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return StartCommand(
            [*unshare, sys.executable, "-I", *arguments], parent_environment(dict(os.environ))
        )

    def end(self) -> None:
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _pids(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if words[:1] == [b"unshare"] and os.fsencode(self.folder) in words:
                    found.append(int(entry.name))
        return found


class Run:
    """A run in touch with its sandboxed parent."""

    def __init__(self, root: Path) -> None:
        self.sandbox = PidNamespace(root)
        self.sandbox.folder.mkdir(parents=True)
        self.root = root
        self.told: dict[str, wire.ProcessFrame] = {}
        self.begin()

    def begin(self) -> None:
        self.ready = 0
        parent = SandboxedParent(RUN, self.sandbox, "")
        self.executor = ProcessExecutor(parent, ExecutorEvents(self._hear, self._on_ready))
        self._task = asyncio.get_running_loop().create_task(self.executor.run())

    async def die(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def launch(self, part: str, command: str, run: str = RUN) -> wire.Launch:
        out = str(self.root / f"{part}.out")
        path = {"PATH": os.defpath, "HOME": str(self.root)}
        return wire.Launch(f"{run}.1.{part}", run, command, str(self.root), out, out, path)

    def send(self, *orders: Order) -> None:
        for order in orders:
            self.executor.send(order)

    def code(self, part: str) -> int | None:
        name = f"{RUN}.1.{part}"
        return self.told[name].exit_code if name in self.told else None

    def text(self, name: str) -> str:
        path = self.root / name
        return path.read_text() if path.exists() else ""

    def _on_ready(self) -> None:
        self.ready += 1

    def _hear(self, process: wire.ProcessFrame) -> None:
        self.told[process.name] = process


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    made = Run(tmp_path / "run")
    yield made
    await made.executor.quit()
    await made.die()


async def test_a_run_starts_signals_and_ends_in_its_sandbox(run: Run) -> None:
    run.send(run.launch("0", "exit 3"), run.launch("1", "echo $$ > inside; exec sleep 600"))
    await eventually(lambda: run.code("0") == 3 and run.text("inside").endswith("\n"))
    outside = run.told[f"{RUN}.1.1"].pid
    assert outside != int(run.text("inside")), "it has a number of its own inside"
    await eventually(lambda: Path(f"/proc/{outside}/cmdline").read_text().startswith("sleep"))
    run.send(wire.Kill(RUN, 9))
    await eventually(lambda: run.code("1") == -9)


async def test_the_next_daemon_adopts_a_sandbox(run: Run) -> None:
    run.send(run.launch("0", "while ! test -e go; do sleep 0.05; done; exit 4"))
    await eventually(lambda: f"{RUN}.1.0" in run.told)
    await run.die()
    run.told.clear()
    run.begin()
    await eventually(lambda: f"{RUN}.1.0" in run.told)
    (run.root / "go").touch()
    await eventually(lambda: run.code("0") == 4)


async def test_a_sandbox_that_dies_ends_the_processes_of_its_run(run: Run) -> None:
    """Also those whose records the run has removed."""
    run.send(run.launch("0", "rm -r parent/processes; exec sleep 600"), run.launch("1", "sleep 600"))
    await eventually(lambda: len(run.told) == 2 and not (run.sandbox.folder / "processes").exists())
    run.sandbox.end()
    await eventually(lambda: (run.code("0"), run.code("1")) == (-9, -9))
    told = run.told[f"{RUN}.1.0"]
    assert ("the warm parent died" in told.trial_error, told.error) == (True, ""), (
        "the trial may have ended it"
    )
    await asyncio.sleep(0.3)
    assert run.ready == 1, "nothing is left to start"


async def test_a_sandbox_that_does_not_start_fails_its_run_at_once(tmp_path: Path) -> None:
    class Broken(PidNamespace):
        def start_command(self, arguments: Sequence[str]) -> StartCommand:
            return StartCommand(["sh", "-c", "echo no such image >&2; exit 125"], {"PATH": os.defpath})

    run = Run(tmp_path / "run")
    await run.die()
    run.sandbox = Broken(run.root)
    run.begin()
    run.send(run.launch("0", "true"))
    await eventually(lambda: run.code("0") == 1)
    assert "the run's sandbox could not be started" in run.told[f"{RUN}.1.0"].error
    assert "no such image" in run.told[f"{RUN}.1.0"].error
    await run.executor.quit()
    await run.die()


async def test_frames_about_other_runs_are_refused(run: Run) -> None:
    await eventually(lambda: run.ready == 1)
    frames = [
        wire.ProcessFrame(f"{OTHER}.1.0", OTHER, 1, exit_code=0),
        wire.ProcessFrame(f"{OTHER}.1.0", RUN, 1, exit_code=0),
        wire.ProcessFrame(f"{RUN}.1.0.evil", RUN, 1, exit_code=0),
        wire.ProcessFrame(f"{RUN}.1.0", RUN, 1, exit_code=10**30),
        wire.ProcessFrame(f"{RUN}.1.0", RUN, 1, port=-4),
        wire.ProcessFrame(f"{RUN}.1.2", RUN, os.getpid(), error="of the machine"),
    ]
    for frame in frames:
        run.executor._on_frame(frame)
    assert list(run.told) == [f"{RUN}.1.2"]
    told = run.told[f"{RUN}.1.2"]
    assert told.pid == 0, "a process of the machine is none of the sandbox's"
    assert (told.error, told.trial_error) == ("", "of the machine"), "it cannot blame the machine"


async def test_a_run_cannot_lead_the_worker_to_another_parent(run: Run, tmp_path: Path) -> None:
    """With a link in the place of its socket its command would be started there: outside, as the worker's user."""
    other = tmp_path / "other"
    other.mkdir()
    events = ExecutorEvents(lambda process: None, lambda: None)
    machine = ProcessExecutor(MachineParent(other, "", parent_environment(dict(os.environ))), events)
    task = asyncio.create_task(machine.run())
    await eventually(lambda: run.ready == 1 and machine.is_ready)
    await run.die()
    run.sandbox.end()
    (run.sandbox.folder / "parent.sock").unlink()
    (run.sandbox.folder / "parent.sock").symlink_to(other / "parent.sock")
    run.begin()
    run.send(run.launch("0", f"test $PPID = {(other / 'parent.lock').read_text()} && touch escaped"))
    await eventually(lambda: run.code("0") is not None)
    assert not (run.root / "escaped").exists()
    await machine.quit()
    task.cancel()


async def test_records_are_not_read_through_links_nor_pipes(run: Run, tmp_path: Path) -> None:
    await eventually(lambda: run.ready == 1)
    secret = tmp_path / "secret.json"
    secret.write_text(
        json.dumps({"name": f"{RUN}.1.7", "run": RUN, "pid": 1, "exit_code": 1, "error": "token"})
    )
    records = run.sandbox.folder / "processes"
    (records / "a.json").symlink_to(secret)
    os.mkfifo(records / "b.json")
    (records / "c.json").write_text("[" * 100_000)
    (records / "d.json").write_text(
        json.dumps({"name": f"{OTHER}.1.0", "run": OTHER, "pid": 1, "exit_code": 0})
    )
    (records / "e.json").write_text(json.dumps({"name": f"{RUN}.1.0", "run": RUN, "pid": 1, "exit_code": 6}))
    run.sandbox.end()
    await eventually(lambda: run.code("0") == 6)
    assert list(run.told) == [f"{RUN}.1.0"]


async def test_a_parent_that_disobeys_is_killed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "OBEY_WITHIN_S", 0.2)
    run.send(run.launch("0", "sleep 600"))
    await eventually(lambda: f"{RUN}.1.0" in run.told)
    run.send(run.launch("1", "kill -STOP $PPID"))
    await asyncio.sleep(0.5)
    run.send(run.launch("2", "sleep 600"), wire.Kill(RUN, 9))
    await eventually(lambda: (run.code("0"), run.code("2")) == (-9, -9))


async def test_a_parent_that_no_longer_answers_is_killed_and_the_next_one_knows_of_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a new daemon, which has heard of no process."""
    monkeypatch.setattr(process_module, "OBEY_WITHIN_S", 0.2)
    run.send(run.launch("0", "kill -STOP $PPID; sleep 600"))
    await asyncio.sleep(0.5)
    await run.die()
    run.told.clear()
    run.begin()
    run.send(wire.Kill(RUN, 9))
    await eventually(lambda: run.ready == 1)
    assert run.code("0") in (None, -9)
