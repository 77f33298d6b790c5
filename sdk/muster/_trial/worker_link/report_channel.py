"""Rank 0's connection to its worker: sends numbered reports, receives signals and decisions. Uses no thread.

Reports are kept until the worker has stored them on disk; after a restart of the worker, missing reports are sent again.
See `muster.wire` for the two connections and the bell.
"""

import os
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from muster import wire
from muster.errors import Broken, Rejected

RING_FRAMES = 100
"""Frames after which the worker is woken: the kernel buffers about 270 small frames before a send would block."""
POLL_S = 0.01
RETRY_S = 0.5
FIRST_CONTACT_S = 1800.0
CLOSE_S = 3.0
WARN_AFTER_S = 10.0
MAX_HELD_BYTES = 64 * 1024 * 1024
UNSENT_NAME = "unsent.frames"


class Channel:
    """Connection to the worker, with its latest signal, decision point and counts."""

    def __init__(self, trial: wire.TrialFile, trial_path: str, token: str) -> None:
        """Connect, and wait for a worker that is restarting.

        Raises:
            Rejected: The worker refuses this rank, or does not answer for half an hour.
        """
        self._path = trial.socket
        self._token = token
        self._unsent_path = Path(trial_path).with_name(UNSENT_NAME)
        self._lock = threading.RLock()
        self._reports: deque[tuple[int, bytes]] = deque()
        self._checkpoints: deque[tuple[int, bytes]] = deque()
        self._held_bytes = 0
        self._socket: socket.socket | None = None
        self._bell: socket.socket | None = None
        self._decoder = wire.Decoder(wire.WORKER_FRAMES)
        self._rang_at = self._polled_at = self._retry_at = 0.0
        self._unread = 0
        self._pid = os.getpid()
        self.closed = False
        self.reports = self.validations = self.checkpoints = self.decided = 0
        self.settled = (0, 0.0)
        self.decide_at: float | None = None
        self.signal, self._acknowledged = "run", ""
        self._has_warned = False
        self._make_contact()

    def start(self) -> None:
        """Report that the script has called `muster.trial()`."""
        with self._lock:
            self._send(wire.encode(wire.Started()), urgent=True)

    def report(self, point: wire.ReportFrame, urgent: bool) -> None:
        """Send, keep and count a report; `urgent` wakes the worker immediately. A report that is too large gets no number."""
        with self._lock:
            frame = wire.encode(point)
            self.reports, self.validations = point.number, max(self.validations, point.validation)
            self._keep(self._reports, point.number, frame, urgent)

    def announce(self, checkpoint: wire.CheckpointFrame) -> None:
        """Report that a checkpoint's files are complete."""
        with self._lock:
            self._keep(self._checkpoints, checkpoint.number, wire.encode(checkpoint), urgent=True)

    def measure(self, measured: wire.StepMeasurements) -> None:
        """Send a measurement of the training; it is not kept, because measurements repeat."""
        with self._lock:
            if not self.closed and os.getpid() == self._pid:
                self._send(wire.encode(measured), urgent=False)

    def acknowledge(self, signal: str) -> None:
        """Report, once per signal, that the script was asked to stop."""
        with self._lock:
            if self._acknowledged != signal:
                self._acknowledged = signal
                self._send(wire.encode(wire.Acknowledge(signal)), urgent=True)

    def glance(self) -> None:
        """Call `poll` at most a hundred times a second, to save system calls in short steps."""
        if time.monotonic() - self._polled_at >= POLL_S:
            self.poll()

    def poll(self) -> None:
        """Read frames from the worker without waiting; reconnect when due."""
        with self._lock:
            self._polled_at = time.monotonic()
            if self._socket is None:
                self._reconnect()
            if self._socket is not None:
                self._read(self._socket)

    def wait(self, until: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until `until` holds after reading frames; return False on timeout."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.poll()
            if until():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if self._socket is None:
                time.sleep(min(left, 0.05))
            else:
                select.select([self._socket], [], [], min(left, 0.5))

    def close(self) -> None:
        """Wait briefly until the worker has stored everything; write the rest to a file of the run when the disk has space."""
        if self.closed or os.getpid() != self._pid:
            return
        self.closed = True
        self._ring()
        while not self.wait(lambda: not self._reports and not self._checkpoints, CLOSE_S):
            if self._leave_unsent():
                break
            self._warn_waiting("its last reports are stored")
        self._disconnect()

    def _leave_unsent(self) -> bool:
        """Write all unstored frames to a file; return False while the disk is full."""
        try:
            with self._unsent_path.open("wb") as unsent:
                unsent.writelines(frame for _, frame in (*self._reports, *self._checkpoints))
        except OSError as error:
            return not wire.is_disk_full(error)
        return True

    def _make_contact(self) -> None:
        started = warned = time.monotonic()
        while not self._reconnect():
            now = time.monotonic()
            if now - started > FIRST_CONTACT_S:
                raise Rejected(
                    "worker_away", f"no worker answered at {self._path} for {FIRST_CONTACT_S:.0f} s"
                )
            if now - warned > 10:
                warned = now
                print("muster: waiting for this machine's worker", file=sys.stderr, flush=True)
            time.sleep(0.05)

    def _keep(self, queue: deque[tuple[int, bytes]], number: int, frame: bytes, urgent: bool) -> None:
        if self.closed:
            raise Rejected("trial_closed", "the trial has ended and accepts no reports")
        if os.getpid() != self._pid:
            raise Rejected("trial_forked", "only the process that called muster.trial() may report")
        queue.append((number, frame))
        self._held_bytes += len(frame)
        self._send(frame, urgent)
        # While the worker is away, training waits when the buffer is full.
        while self._held_bytes > MAX_HELD_BYTES:
            self.wait(lambda: self._held_bytes <= MAX_HELD_BYTES // 2, 10)

    def _send(self, frame: bytes, urgent: bool) -> None:
        if self._socket is None:
            self._reconnect()
            return
        try:
            sent = self._socket.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._read(self._socket)  # reads its last frames
            return
        if sent < len(frame):
            self._send_rest(memoryview(frame)[sent:])
        self._unread += 1
        if urgent or self._unread >= RING_FRAMES or time.monotonic() - self._rang_at > wire.POLL_S:
            self._ring()
            if self._socket is not None:
                self._read(self._socket)

    def _send_rest(self, rest: memoryview) -> None:
        """Wait for space in the kernel's buffer; ring before each attempt. A worker with a full disk stops reading."""
        self._ring()
        began = time.monotonic()
        while rest and self._socket is not None:
            if time.monotonic() - began > WARN_AFTER_S:
                self._warn_waiting("its reports are stored")
            _, writable, _ = select.select([], [self._socket], [], 1.0)
            try:
                if writable:
                    rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                pass
            except OSError:
                self._read(self._socket)
            self._ring()

    def _warn_waiting(self, until: str) -> None:
        """Print once what the script waits for."""
        if not self._has_warned:
            self._has_warned = True
            text = f"muster: this machine's worker does not accept reports now; the trial waits until {until}"
            print(text, file=sys.stderr, flush=True)

    def _ring(self) -> None:
        self._rang_at, self._unread = time.monotonic(), 0
        if self._bell is not None:
            try:
                self._bell.send(b"!")
            except BlockingIOError:
                pass  # the bell already rings
            except OSError:
                self._disconnect()

    def _read(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(64 * 1024):
                for frame in self._decoder.feed(data):
                    self._on_frame(frame)
        except BlockingIOError:
            return
        except OSError:
            pass
        self._disconnect()

    def _on_frame(self, frame: wire.Frame) -> None:
        match frame:
            case wire.Journaled():
                self._forget(self._reports, frame.reports)
                self._forget(self._checkpoints, frame.checkpoints)
                self.settled = max(self.settled, (frame.settled, frame.settled_s))
            case wire.Signalled():
                self.signal = frame.signal
            case wire.Decided():
                self.signal = frame.signal
                self.decide_at = frame.decide_at
                self.decided = max(self.decided, frame.validation)
            case wire.ConnectionRefused():
                raise Rejected("refused", f"the worker refused this process: {frame.reason}")
            case _:
                raise Broken(f"unexpected {frame!r} from the worker")

    def _forget(self, queue: deque[tuple[int, bytes]], number: int) -> None:
        while queue and queue[0][0] <= number:
            self._held_bytes -= len(queue.popleft()[1])

    def _reconnect(self) -> bool:
        now = time.monotonic()
        if now < self._retry_at or os.getpid() != self._pid:
            return False
        self._retry_at = now + RETRY_S
        try:
            data, decoder, welcome = self._greet(bell=False)
            bell, _, _ = self._greet(bell=True)
        except OSError:
            return False
        data.setblocking(False)
        bell.setblocking(False)
        self._socket, self._bell, self._decoder = data, bell, decoder
        self._on_welcome(welcome)
        return True

    def _greet(self, bell: bool) -> tuple[socket.socket, wire.Decoder, wire.Welcome]:
        connection = wire.connect(self._path, timeout_s=5.0)
        decoder = wire.Decoder(wire.WORKER_FRAMES)
        try:
            connection.sendall(wire.encode(wire.Hello(self._token, 0, self._pid, bell)))
            frame = wire.receive(connection, decoder)
            if frame is None:
                raise ConnectionResetError("the worker closed the connection")
            return connection, decoder, wire.expect(frame, wire.Welcome)
        except BaseException:
            connection.close()
            raise

    def _on_welcome(self, welcome: wire.Welcome) -> None:
        self._forget(self._reports, welcome.reports)
        self._forget(self._checkpoints, welcome.checkpoints)
        self.reports = max(self.reports, welcome.reports)
        self.validations = max(self.validations, welcome.validations)
        self.checkpoints = max(self.checkpoints, welcome.checkpoints)
        self.signal, self.decide_at = welcome.signal, welcome.decide_at
        self.decided = max(self.decided, welcome.decided)
        resend = b"".join(frame for _, frame in (*self._reports, *self._checkpoints))
        if self._acknowledged and self._acknowledged in (self.signal, "stop"):
            resend += wire.encode(wire.Acknowledge(self._acknowledged))
        if resend:
            self._send_rest(memoryview(resend))
            self._ring()

    def _disconnect(self) -> None:
        for connection in (self._socket, self._bell):
            if connection is not None:
                connection.close()
        self._socket = self._bell = None
