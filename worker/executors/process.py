"""Local processes: the daemon's connection to its warm parent, which it finds or starts, and which starts processes and reports their exits."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import structlog

from muster import wire
from muster.errors import MusterError
from muster.wire.process_records import PROCESSES, is_served, read_ended
from shared.runtime.outages import Outages
from worker.core.process_names import RENDEZVOUS, part_of
from worker.executors.interface import ExecutorEvents, Order
from worker.executors.start_failures import StartFailures

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TZ")
CONNECT_EVERY_S = 0.05
START_AGAIN_S = 5.0
READY_WITHIN_S = 180.0
"""A warm parent that has not imported its modules by then is killed, and another one is started."""
_OUTDATED = "adopted a warm parent of an older version: new runs wait until its processes have ended"
_RENDEZVOUS_LOST = (
    "the worker was upgraded between the opening of the gang's rendezvous and the start of its ranks"
)
_GREETING = "connecting to the warm parent"
_log = structlog.get_logger()


class ProcessExecutor:
    """Keeps one connection; orders are queued while there is none.

    A parent of an older daemon is adopted for its processes. It may not understand new orders: new processes
    wait until its last one has ended and a new parent takes over. Only ranks that need a rendezvous of the old parent fail.
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
        """Why no process can be started, after several failed starts in a row."""
        return self._starts.trouble

    def send(self, order: Order) -> None:
        """Send an order; orders keep their sequence. An outdated parent only gets orders to end processes; the next one gets them too, after the queued orders of the run."""
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
            self._write(self._writer, order)

    def _write(self, writer: asyncio.StreamWriter, order: Order) -> None:
        """Send an order as a frame; what describes a process travels in a file that only the process reads."""
        if isinstance(order, wire.OpenRendezvous | wire.Kill | wire.Forget):
            writer.write(wire.encode(order))
            return
        try:
            file = wire.write_launch(self._directory / wire.LAUNCHES, order)
        except OSError as error:
            failed = wire.ProcessFrame(order.name, order.run, 0, exit_code=1, error=str(error))
            asyncio.get_running_loop().call_soon(self._events.on_process, failed)
            return
        sandbox = asdict(order.sandbox) if order.sandbox else None
        writer.write(wire.encode(wire.Start(order.name, order.run, str(file), sandbox)))

    def _end_unstarted(self, kill: wire.Kill) -> None:
        """End queued launches of a run: if no parent becomes ready, as with a broken environment, their slots would never be free."""
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
        """Whether only the rendezvous of a run lives: it would wait for ranks that wait for its end."""
        mine = [part_of(name) for name in self._living if name.startswith(f"{run}.")]
        return bool(mine) and all(part == RENDEZVOUS for part in mine)

    async def run(self) -> None:
        """Stay connected."""
        while not self._ending:
            reader = await self._connect()
            if reader is None:
                return
            try:
                await self._listen(reader)
            except (OSError, MusterError) as error:
                _log.warning("lost the connection to the warm parent", error=str(error))
            if not self.is_ready:
                self._outages.failed(_GREETING, "it closed the connection; see parent.log in its directory")
                await asyncio.sleep(CONNECT_EVERY_S)
            self.is_ready = self._is_outdated = False
            self._writer = None
            self._living.clear()

    def begin_end(self) -> None:
        """Stop starting and reconnecting parents."""
        self._ending = True

    async def quit(self) -> None:
        """End the parent and its processes."""
        self.begin_end()
        if self._writer is not None:
            self._writer.write(wire.encode(wire.Quit()))
            with suppress(OSError):
                await self._writer.drain()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._child.wait, 6)

    async def _connect(self) -> asyncio.StreamReader | None:
        """Return a connection, and start a parent if there is none; None after `begin_end`."""
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
        """Check the warm parent that was started last. If it ended because another one serves this directory, the start has not failed."""
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
        """Count a failed start. From the third in a row on, fail all queued launches: they would hold their slots in vain."""
        self._is_starting = False
        self._starts.parent_failed(why)
        if (trouble := self.trouble) is None:
            return
        failed = [one for one in self._waiting if isinstance(one, wire.Launch | wire.OpenRendezvous)]
        self._waiting = [one for one in self._waiting if one not in failed]
        for one in failed:
            frame = wire.ProcessFrame(
                one.name, one.run, 0, exit_code=1, error=f"this machine cannot start processes: {trouble}"
            )
            asyncio.get_running_loop().call_soon(self._events.on_process, frame)

    def _report_lost(self) -> None:
        """Report the processes of a dead parent as ended. The next parent would report them too, but only after its imports."""
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
        # What a dead parent did not start holds tokens, and is ordered again.
        shutil.rmtree(self._directory / wire.LAUNCHES, ignore_errors=True)
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
        """Count a new report of a connected parent: a process was started, or could not be."""
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
    """Return the environment of the warm parent. One BLAS thread: a thread pool does not survive forks."""
    passed = {name: environment[name] for name in _PASSED_ON if name in environment}
    return {"PATH": os.defpath, **passed, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
