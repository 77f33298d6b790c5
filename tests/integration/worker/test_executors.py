"""The contract of every executor, with real processes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from muster import wire
from tests.support.waiting import eventually
from worker.executors.interface import Executor, ExecutorEvents, Order
from worker.executors.parents import MachineParent
from worker.executors.process import ProcessExecutor, parent_environment


def by_processes(directory: Path, events: ExecutorEvents) -> Executor:
    directory.mkdir(exist_ok=True)
    parent = MachineParent(directory, "muster._trial", parent_environment(dict(os.environ)))
    return ProcessExecutor(parent, events)


class Bench:
    """An executor in touch, what it told, and how to be its next daemon."""

    def __init__(self, make: Callable[[Path, ExecutorEvents], Executor], folder: Path) -> None:
        self.make = make
        self.folder = folder
        self.begin()

    def begin(self) -> None:
        self.told: dict[str, wire.ProcessFrame] = {}
        self.ready_after: list[set[str]] = []
        events = ExecutorEvents(self._hear, lambda: self.ready_after.append(set(self.told)))
        self.executor = self.make(self.folder / "executor", events)
        self._task = asyncio.get_running_loop().create_task(self.executor.run())

    async def die(self) -> None:
        """The daemon is gone, without a word."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def end(self) -> None:
        await self.executor.quit()
        await self.die()

    def send(self, *orders: Order) -> None:
        for order in orders:
            self.executor.send(order)

    def launch(self, name: str, command: str, run: str = "run") -> wire.Launch:
        out = str(self.folder / f"{name}.out")
        return wire.Launch(
            name, run, command, str(self.folder), out, out, {"PATH": os.defpath, "HOME": str(self.folder)}
        )

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def code(self, name: str) -> int | None:
        return self.told[name].exit_code if name in self.told else None

    def _hear(self, process: wire.ProcessFrame) -> None:
        self.told[process.name] = process


@pytest.fixture(params=[by_processes], ids=["process"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(request.param, tmp_path)
    yield made
    await made.end()


async def test_what_is_asked_before_it_is_ready_is_done_in_order(bench: Bench) -> None:
    assert not bench.executor.is_ready
    bench.send(bench.launch("one", "echo one"), bench.launch("two", "exit 3"))
    await eventually(lambda: (bench.code("one"), bench.code("two")) == (0, 3))
    assert list(bench.told) == ["one", "two"]
    assert bench.text("one.out") == "one\n"


async def test_what_waits_for_a_parent_that_does_not_start_can_be_ended(tmp_path: Path) -> None:
    def by_nothing(directory: Path, events: ExecutorEvents) -> Executor:
        directory.mkdir()
        parent = MachineParent(directory, "", parent_environment(dict(os.environ)), "/bin/false")
        return ProcessExecutor(parent, events)

    bench = Bench(by_nothing, tmp_path)
    try:
        bench.send(bench.launch("one", "sleep 600"), bench.launch("other", "sleep 600", run="other"))
        bench.send(wire.Kill("run", 9))
        await eventually(lambda: bench.code("one") == -9)
        assert "other" not in bench.told
    finally:
        await bench.end()


async def test_each_end_has_its_code(bench: Bench) -> None:
    bench.send(
        bench.launch("missing", "no-such-program"),
        bench.launch("python", "python3 absent.py"),
        bench.launch("killed", "kill -9 $$"),
    )
    await eventually(lambda: all(bench.code(name) is not None for name in ("missing", "python", "killed")))
    assert [bench.code(name) for name in ("missing", "python", "killed")] == [127, 2, -9]


async def test_a_run_gives_way_as_far_as_it_is_told(bench: Bench) -> None:
    said = "nice; cat /proc/self/autogroup 2>/dev/null || true"
    bench.send(bench.launch("plain", said), replace(bench.launch("kind", said), niceness=7))
    await eventually(lambda: (bench.code("plain"), bench.code("kind")) == (0, 0))
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for name, more in (("plain", 0), ("kind", 7)):
        niceness, *session = bench.text(f"{name}.out").splitlines()
        assert niceness == str(own + more)
        assert not session or session[0].endswith(f"nice {more}")


async def test_one_name_starts_one_process(bench: Bench) -> None:
    bench.send(bench.launch("once", "echo started; sleep 60"), bench.launch("once", "echo again"))
    await eventually(lambda: bench.text("once.out") == "started\n")
    bench.send(bench.launch("after", "true"))
    await eventually(lambda: bench.code("after") == 0)
    assert bench.text("once.out") == "started\n"


async def test_the_end_of_a_run_takes_all_that_it_started_and_no_other_run(bench: Bench) -> None:
    """What left its session could be of any run that lived then: the end of the last of them takes it."""
    forks = "sleep 600 & echo $! > stayed; setsid sleep 600 & echo $! > left; sleep 600"
    bench.send(bench.launch("mine", forks), bench.launch("other", "sleep 600", run="other"))
    await eventually(lambda: bench.text("stayed").endswith("\n") and bench.text("left").endswith("\n"))
    stayed, left = (Path("/proc", bench.text(name).strip()) for name in ("stayed", "left"))
    bench.send(wire.Kill("run", 9))
    await eventually(lambda: bench.code("mine") == -9 and not stayed.exists())
    assert bench.code("other") is None
    bench.send(wire.Kill("other", 9))
    await eventually(lambda: bench.code("other") == -9 and not left.exists())


async def test_what_a_run_left_running_is_told_with_its_end(bench: Bench) -> None:
    """Also while another run lives, whose processes stay."""
    forks = "sleep 600 & setsid sleep 601 & echo $! > left; sleep 0.2"
    mine, other = "0a0a-of-mine", "0b0b-of-other"
    for run, command in ((other, "setsid sleep 600 & echo $! > others; sleep 600"), (mine, forks)):
        asked = bench.launch(run, command, run=run)
        bench.send(replace(asked, environment={**asked.environment, "HOME": f"/runs/{run}/home"}))
    await eventually(lambda: bench.text("left").endswith("\n") and bench.text("others").endswith("\n"))
    left, others = (Path("/proc", bench.text(name).strip()) for name in ("left", "others"))
    await eventually(lambda: bench.code(mine) == 0)
    assert bench.told[mine].left == "sleep (2 times)"
    await eventually(lambda: not left.exists())
    assert others.exists() and bench.code(other) is None
    bench.send(wire.Kill(other, 9))
    await eventually(lambda: bench.code(other) == -9 and not others.exists())


async def test_a_run_that_leaves_nothing_is_told_nothing(bench: Bench) -> None:
    bench.send(bench.launch("tidy", "sleep 600 & kill $!; wait"))
    await eventually(lambda: bench.code("tidy") is not None)
    assert bench.told["tidy"].left == ""


async def test_the_next_daemon_is_told_of_what_lives_and_of_what_ended(bench: Bench) -> None:
    bench.send(bench.launch("long", "sleep 600"), bench.launch("short", "exit 4"))
    await eventually(lambda: bench.code("short") == 4 and "long" in bench.told)
    await bench.die()
    bench.begin()
    await eventually(lambda: bench.executor.is_ready)
    assert bench.ready_after == [{"long", "short"}], "it must know all before it is said to be ready"
    assert (bench.code("long"), bench.code("short")) == (None, 4)
    bench.send(wire.Kill("run", 9))
    await eventually(lambda: bench.code("long") == -9)
    bench.send(wire.Forget("run"))
    await bench.die()
    bench.begin()
    await eventually(lambda: bench.executor.is_ready)
    assert bench.told == {}


async def test_a_rendezvous_listens_on_the_address_that_was_asked_for_until_its_run_ends(
    bench: Bench,
) -> None:
    request = wire.OpenRendezvous("meet", "run", "m0:1,m1:1", 2, "127.0.0.7")
    bench.send(request)
    await eventually(lambda: "meet" in bench.told)
    port = bench.told["meet"].port
    assert port, bench.told["meet"].error
    _, writer = await asyncio.open_connection("127.0.0.7", port)
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    bench.send(wire.Kill("run", 9))
    await eventually(lambda: bench.code("meet") == -9)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.7", port)


async def test_the_end_of_all_leaves_no_process(bench: Bench) -> None:
    bench.send(bench.launch("last", "sleep 600"))
    await eventually(lambda: "last" in bench.told)
    pid = bench.told["last"].pid
    await bench.executor.quit()
    await eventually(lambda: not Path(f"/proc/{pid}").exists())


HELD = {"run": "old", "gang": "gang.1.rendezvous"}
"""What an older parent has: a rank, and a place where a gang is to meet whose ranks were not started yet."""


class OlderParent:
    """A warm parent of the first protocol: it refuses greetings of another, and would not understand what is new."""

    def __init__(self) -> None:
        self.asked: list[wire.Frame] = []
        self.server: asyncio.Server | None = None

    async def begin(self, folder: Path) -> None:
        folder.mkdir()
        self.server = await asyncio.start_unix_server(self._serve, str(folder / "parent.sock"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = wire.Decoder(wire.DAEMON_FRAMES)
        while data := await reader.read(65536):
            for frame in decoder.feed(data):
                self.asked.append(frame)
                if isinstance(frame, wire.Greeting) and frame.version == 1:
                    held: list[wire.Frame] = [wire.ProcessFrame(name, run, 7) for run, name in HELD.items()]
                    for told in (*held, wire.Ready(6, [], version=1)):
                        writer.write(wire.encode(told))
                if isinstance(frame, wire.Kill) and frame.run in HELD:
                    writer.write(wire.encode(wire.ProcessFrame(HELD[frame.run], frame.run, 7, exit_code=-9)))
                if isinstance(frame, wire.Quit) and self.server is not None:
                    self.server.close()
                    writer.close()
                    return


async def test_a_parent_of_an_older_daemon_keeps_what_it_holds_and_is_asked_for_nothing_new(
    tmp_path: Path,
) -> None:
    older = OlderParent()
    await older.begin(tmp_path / "executor")
    bench = Bench(by_processes, tmp_path)
    try:
        await eventually(lambda: bench.executor.is_ready)
        assert bench.ready_after == [set(HELD.values())], "what it holds is adopted"
        bench.send(bench.launch("gang.1.0", "echo new", run="gang"))
        await eventually(lambda: bench.code("gang.1.0") == 1)
        assert "the worker was upgraded" in bench.told["gang.1.0"].error
        bench.send(wire.Kill("gang", 9))
        bench.send(bench.launch("new", "echo new", run="other"))
        bench.send(bench.launch("ended", "sleep 600", run="ended meanwhile"), wire.Kill("ended meanwhile", 9))
        bench.send(wire.Kill("run", 9))
        await eventually(lambda: bench.code("old") == -9)
        await eventually(lambda: bench.code("new") == 0)
        await eventually(lambda: bench.code("ended") == -9)
        assert [type(frame) for frame in older.asked] == [wire.Greeting, *[wire.Kill] * 3, wire.Quit]
    finally:
        await bench.end()
