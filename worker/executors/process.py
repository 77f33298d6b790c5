"""Local processes: the daemon's connection to a warm parent, which it finds or starts, and which starts processes and reports their exits."""

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import asdict

import structlog

from muster import wire
from muster.errors import MusterError, Rejected
from shared.runtime.outages import Outages
from worker.core.process_names import RENDEZVOUS, part_of
from worker.executors.interface import ExecutorEvents, Order
from worker.executors.parents import ParentHandle
from worker.executors.start_failures import StartFailures

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TZ")
CONNECT_EVERY_S = 0.05
OBEY_WITHIN_S = 2.0
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

    def __init__(self, parent: ParentHandle, events: ExecutorEvents) -> None:
        self._parent = parent
        self._events = events
        self._waiting: list[Order] = []
        self._writer: asyncio.StreamWriter | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._child_at = 0.0
        self._is_starting = False
        self._ending = False
        self._living: set[str] = set()
        self._is_outdated = False
        self._outages = Outages(directory=str(parent.folder))
        self._starts = StartFailures(parent.log, parent.max_failed_starts)
        self._was_ready = False
        self._killing: asyncio.Task[None] | None = None
        self.is_ready = False

    @property
    def trouble(self) -> str | None:
        """Why no process can be started, after several failed starts in a row."""
        return self._starts.trouble

    def send(self, order: Order) -> None:
        """Send an order; orders keep their sequence. An outdated parent only gets orders to end processes; the next one gets them too, after the queued orders of the run."""
        is_for_next = isinstance(order, wire.Launch | wire.OpenRendezvous)
        if self._parent.is_for_one_run and isinstance(order, wire.Kill):
            self._expect_end(order)
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
            if self._parent.is_for_one_run and isinstance(order, wire.Launch | wire.OpenRendezvous):
                self._living.add(order.name)  # its parent may hide it

    def _expect_end(self, kill: wire.Kill) -> None:
        """End the sandbox of a run later, if the run was killed: its parent may be manipulated, and not kill its processes."""
        if kill.number == signal.SIGKILL and not kill.name:
            self._killing = self._killing or asyncio.create_task(self._kill_disobedient())

    async def _kill_disobedient(self) -> None:
        """End the sandbox of a run that was killed, if it still exists after some time. A parent that never reported the run's processes
        is replaced by one that has none."""
        await asyncio.sleep(OBEY_WITHIN_S)
        self._was_ready = self._was_ready and bool(self._living)
        await asyncio.to_thread(self._parent.end)

    def _write(self, writer: asyncio.StreamWriter, order: Order) -> None:
        """Send an order as a frame; what describes a process travels in a file that only the process reads."""
        if isinstance(order, wire.OpenRendezvous | wire.Kill | wire.Forget):
            writer.write(wire.encode(order))
            return
        try:
            file = self._parent.write_launch(order)
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
            if not self._parent.is_for_one_run:
                self._living.clear()  # the next parent reports those that it adopts

    def begin_end(self) -> None:
        """Stop starting and reconnecting parents."""
        self._ending = True

    async def quit(self) -> None:
        """End the parent and its processes."""
        self.begin_end()
        if self._killing is not None:
            self._killing.cancel()
        if self._writer is not None:
            self._writer.write(wire.encode(wire.Quit()))
            with suppress(OSError):
                await self._writer.drain()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._child.wait, 6)
        await asyncio.to_thread(self._parent.end)

    async def _connect(self) -> asyncio.StreamReader | None:
        """Return a connection, and start a parent if there is none; None after `begin_end`."""
        started_at, is_reported = -START_AGAIN_S, False
        while not self._ending:
            with suppress(OSError):
                connection = self._parent.connect()
                connection.setblocking(False)
                reader, writer = await asyncio.open_unix_connection(sock=connection, limit=2**22)
                self._writer = writer
                return reader
            now = asyncio.get_running_loop().time()
            self._look_at_child(now)
            if self._child is None and not is_reported:
                is_reported = True
                self._report_lost()
            if self._child is None and now - started_at >= START_AGAIN_S and self._is_needed():
                started_at, is_reported = now, False
                try:
                    self._start(now)
                except OSError as error:
                    _log.error("the warm parent could not be started", error=str(error))
                    self._on_failed_start(str(error))
            await asyncio.sleep(CONNECT_EVERY_S)
        return None

    def _is_needed(self) -> bool:
        """Whether a parent must be started: one of a single run is not replaced while the run has nothing to start."""
        is_first = not self._parent.is_for_one_run or not self._was_ready
        return is_first or any(isinstance(one, wire.Launch | wire.OpenRendezvous) for one in self._waiting)

    def _look_at_child(self, now: float) -> None:
        """Check the warm parent that was started last. If it ended because another one serves this directory, the start has not failed."""
        if self._child is None:
            return
        code = self._child.poll()
        if code is None and self._is_starting and now - self._child_at >= READY_WITHIN_S:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
            self._parent.end()
            self._child = None
            self._on_failed_start(f"it was not ready after {READY_WITHIN_S:.0f} s")
        elif code is not None:
            self._child = None
            if self._is_starting and not (code == 0 and self._parent.is_served()):
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
                one.name, one.run, 0, exit_code=1, error=self._parent.describe_failure(trouble, why)
            )
            asyncio.get_running_loop().call_soon(self._events.on_process, frame)

    def _report_lost(self) -> None:
        """Report the processes of a dead parent as ended. The next parent would report them too, but only after its imports."""
        if not self._parent.is_served():
            for process in self._parent.lost(self._living):
                self._events.on_process(process)
            self._living.clear()

    def _start(self, now: float) -> None:
        self._child = self._parent.start()
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
            try:
                frame = self._parent.check(frame)
            except Rejected as error:
                _log.warning("a report of a warm parent was refused", error=str(error))
                return
            (self._living.add if frame.exit_code is None else self._living.discard)(frame.name)
            if self.is_ready:
                self._note_start(frame)
            self._events.on_process(frame)
        elif isinstance(frame, wire.Ready):
            _log.info("the warm parent is ready", pid=frame.pid, warm=frame.warm)
            self.is_ready = self._was_ready = True
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
