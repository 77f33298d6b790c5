"""Processes of this machine: the daemon's link to its warm parent, found or started, asked for processes, listened to for their ends."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import structlog

from muster import wire
from muster.errors import MusterError
from muster.wire.process_records import PROCESSES, is_served, read_ended
from shared.runtime.outages import Outages
from worker.core.naming import RENDEZVOUS, part_of
from worker.executors.port import ExecutorEvents, Order
from worker.executors.start_failures import StartFailures

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TZ")
CONNECT_EVERY_S = 0.05
START_AGAIN_S = 5.0
READY_WITHIN_S = 180.0
"""A warm parent that has not imported by then what ranks need is ended, and another one started."""
_OUTDATED = "an older warm parent was adopted: new runs wait until those that it holds have ended"
_RENDEZVOUS_LOST = "the worker was replaced by a newer version between the opening of the gang's rendezvous and the start of its ranks"
_GREETING = "greeting the warm parent"
_log = structlog.get_logger()


class ProcessExecutor:
    """One connection at a time, for ever; what is sent while there is none waits.

    A parent that an older daemon has started is adopted for what it holds. It may not understand what it would be asked now: new processes
    wait until its last one has ended, and a new parent takes its place. Only the ranks of a rendezvous that it holds cannot: they fail.
    """

    def __init__(
        self,
        directory: Path,
        warm: str,
        environment: dict[str, str],
        events: ExecutorEvents,
        interpreter: str = sys.executable,
    ) -> None:
        self._directory = directory
        self._warm = warm
        self._environment = environment
        self._events = events
        self._interpreter = interpreter
        self._waiting: list[Order] = []
        self._writer: asyncio.StreamWriter | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._child_at = 0.0
        self._is_starting = False
        self._ending = False
        self._living: set[str] = set()
        self._is_outdated = False
        self._outages = Outages(directory=str(directory))
        self._starts = StartFailures(directory / "parent.log")
        self.is_ready = False

    @property
    def trouble(self) -> str | None:
        """Why nothing can be started at present, after several starts in a row that failed."""
        return self._starts.trouble

    def send(self, order: Order) -> None:
        """Ask for something; order is kept. An outdated parent is only asked to end what it holds; the next one is too, after what waits of the run."""
        is_for_next = isinstance(order, wire.Launch | wire.OpenRendezvous)
        if self._writer is None or not self.is_ready:
            if isinstance(order, wire.Kill) and order.number == signal.SIGKILL:
                self._end_unstarted(order)
            self._waiting.append(order)
            return
        if self._is_outdated and isinstance(order, wire.Launch) and self._holds_only_rendezvous_of(order.run):
            failed = wire.ProcessFrame(order.name, order.run, 0, exit_code=1, error=_RENDEZVOUS_LOST)
            asyncio.get_running_loop().call_soon(self._events.on_process, failed)
            return
        if self._is_outdated and (is_for_next or any(one.run == order.run for one in self._waiting)):
            self._waiting.append(order)
        if not (self._is_outdated and is_for_next):
            self._writer.write(wire.encode(order))

    def _end_unstarted(self, kill: wire.Kill) -> None:
        """What waits for a parent is ended by not starting: where none comes, as from a broken environment, its slots were never free again."""
        ended = [
            one
            for one in self._waiting
            if isinstance(one, wire.Launch) and one.run == kill.run and kill.name in ("", one.name)
        ]
        self._waiting = [one for one in self._waiting if one not in ended]
        for one in ended:
            frame = wire.ProcessFrame(one.name, one.run, 0, exit_code=-kill.number)
            asyncio.get_running_loop().call_soon(self._events.on_process, frame)

    def _holds_only_rendezvous_of(self, run: str) -> bool:
        """Whether of a run there is its rendezvous and nothing else: it would wait for ranks that wait for its end."""
        mine = [part_of(name) for name in self._living if name.startswith(f"{run}.")]
        return bool(mine) and all(part == RENDEZVOUS for part in mine)

    async def run(self) -> None:
        """Keep connected."""
        while not self._ending:
            reader = await self._connect()
            if reader is None:
                return
            try:
                await self._listen(reader)
            except (OSError, MusterError) as error:
                _log.warning("the warm parent's connection broke", error=str(error))
            if not self.is_ready:
                self._outages.failed(_GREETING, "it ended the connection; parent.log beside it says why")
                await asyncio.sleep(CONNECT_EVERY_S)
            self.is_ready = self._is_outdated = False
            self._writer = None
            self._living.clear()

    def begin_end(self) -> None:
        """Start no parent any more; one that goes away is not looked for."""
        self._ending = True

    async def quit(self) -> None:
        """End the parent and every process it holds."""
        self.begin_end()
        if self._writer is not None:
            self._writer.write(wire.encode(wire.Quit()))
            with suppress(OSError):
                await self._writer.drain()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._child.wait, 6)

    async def _connect(self) -> asyncio.StreamReader | None:
        """A connection, with a new parent where there is none; None once the end has begun."""
        started_at = -START_AGAIN_S
        while not self._ending:
            with suppress(OSError):
                connection = wire.connect(str(self._directory / "parent.sock"), timeout_s=2.0)
                connection.setblocking(False)
                reader, writer = await asyncio.open_unix_connection(sock=connection, limit=2**22)
                self._writer = writer
                return reader
            now = asyncio.get_running_loop().time()
            self._look_at_child(now)
            if self._child is None and now - started_at >= START_AGAIN_S:
                started_at = now
                self._report_lost()
                try:
                    self._start(now)
                except OSError as error:
                    _log.error("the warm parent could not be started", error=str(error))
                    self._on_failed_start(str(error))
            await asyncio.sleep(CONNECT_EVERY_S)
        return None

    def _look_at_child(self, now: float) -> None:
        """Whether the warm parent that was started last still may become ready. One that ends because another serves here has not failed."""
        if self._child is None:
            return
        code = self._child.poll()
        if code is None and self._is_starting and now - self._child_at >= READY_WITHIN_S:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
            self._child = None
            self._on_failed_start(f"it was not ready after {READY_WITHIN_S:.0f} s")
        elif code is not None:
            self._child = None
            if self._is_starting and not (code == 0 and is_served(self._directory)):
                self._on_failed_start(self._starts.last_output_line() or f"it ended with exit code {code}")

    def _on_failed_start(self, why: str) -> None:
        """A warm parent did not come up. From the third in a row on what waits for it fails: its slots would be held for nothing."""
        self._is_starting = False
        self._starts.parent_failed(why)
        if (trouble := self.trouble) is None:
            return
        failed = [one for one in self._waiting if isinstance(one, wire.Launch | wire.OpenRendezvous)]
        self._waiting = [one for one in self._waiting if one not in failed]
        for one in failed:
            frame = wire.ProcessFrame(
                one.name, one.run, 0, exit_code=1, error=f"this machine cannot start it: {trouble}"
            )
            asyncio.get_running_loop().call_soon(self._events.on_process, frame)

    def _report_lost(self) -> None:
        """What a dead parent held is dead. The next one would say so too, when it has imported what ranks need: in seconds."""
        if not is_served(self._directory):
            for process in read_ended(self._directory / PROCESSES):
                self._events.on_process(process)

    def _start(self, now: float) -> None:
        command = [
            self._interpreter,
            "-I",
            "-m",
            "muster.runtime",
            "--directory",
            str(self._directory),
            "--warm",
            self._warm,
        ]
        with (self._directory / "parent.log").open("ab") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                env=self._environment,
                start_new_session=True,
            )
        self._is_starting, self._child_at = True, now
        _log.info("the warm parent was started", pid=self._child.pid)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        assert self._writer is not None
        decoder = wire.Decoder(wire.PARENT_FRAMES)
        self._writer.write(wire.encode(wire.Greeting()))
        while data := await reader.read(256 * 1024):
            for frame in decoder.feed(data):
                self._on_frame(frame)

    def _note_start(self, process: wire.ProcessFrame) -> None:
        """What the parent tells while it serves is news: something was started, or could not be."""
        if not process.pid and process.error:
            self._starts.launch_failed(process.run, process.error)
        elif process.exit_code is None:
            self._starts.worked()

    def _on_frame(self, frame: wire.Frame) -> None:
        if isinstance(frame, wire.ProcessFrame):
            (self._living.add if frame.exit_code is None else self._living.discard)(frame.name)
            if self.is_ready:
                self._note_start(frame)
            self._events.on_process(frame)
        elif isinstance(frame, wire.Ready):
            _log.info("the warm parent is ready", pid=frame.pid, warm=frame.warm)
            self.is_ready = True
            self._is_starting = False
            self._starts.worked()
            self._outages.worked(_GREETING)
            self._is_outdated = frame.version < wire.VERSION
            if self._is_outdated:
                _log.warning(_OUTDATED, version=frame.version, own=wire.VERSION, processes=len(self._living))
            waiting, self._waiting = self._waiting, []
            for frame_waiting in waiting:
                self.send(frame_waiting)
            self._events.on_ready()
        if self._is_outdated and not self._living and self._writer is not None:
            self._writer.write(wire.encode(wire.Quit()))


def parent_environment(environment: dict[str, str]) -> dict[str, str]:
    """What the warm parent inherits. One BLAS thread: a pool of threads would not survive the forks."""
    kept = {name: environment[name] for name in _PASSED_ON if name in environment}
    return {"PATH": os.defpath, **kept, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
