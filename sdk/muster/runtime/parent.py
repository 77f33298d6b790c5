"""Main loop of the warm parent: one thread, one selector. Receives requests, forks ranks, records exits and reports them."""

import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from muster import wire
from muster.errors import Rejected
from muster.runtime.child import CANNOT_START, become_rank
from muster.runtime.processes import ProcessTable
from muster.runtime.rendezvous import serve
from muster.runtime.sandbox.sandboxes import Sandbox, Sandboxes
from muster.runtime.start_report import open_report
from muster.wire.process_records import PROCESSES

SOCKET_NAME = "parent.sock"
PORT_WAIT_S = 10.0


@dataclass(slots=True)
class _Peer:
    connection: socket.socket
    decoder: wire.Decoder = field(default_factory=lambda: wire.Decoder(wire.DAEMON_FRAMES))
    greeted: bool = False


class WarmParent:
    """Serves the daemon of its directory. Ends after `idle_exit_s` without daemon and children."""

    def __init__(self, directory: Path, warm: list[str], idle_exit_s: float) -> None:
        self._warm = warm
        self._idle_exit_s = idle_exit_s
        self._sandboxes = Sandboxes()
        self._family = ProcessTable(directory / PROCESSES, self._sandboxes)
        self._selector = selectors.DefaultSelector()
        self._listener = wire.listen(str(directory / SOCKET_NAME))
        self._peers: dict[socket.socket, _Peer] = {}
        self._running = True
        self._wake_read, self._wake_write = socket.socketpair()
        self._idle_since = time.monotonic()

    def run(self) -> None:
        """Serve until asked to quit, or idle for too long."""
        for end in (self._wake_read, self._wake_write):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_terminate)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        while self._running:
            for key, _ in self._selector.select(timeout=1.0):
                self._on_readable(key.fileobj)
            self._reap()
            self._family.save_rest()
            self._check_idle()
        self._end_all()

    def _on_terminate(self, number: int, frame: object) -> None:
        self._running = False

    def _on_readable(self, source: object) -> None:
        if source is self._listener:
            connection, _ = self._listener.accept()
            connection.settimeout(5.0)
            self._peers[connection] = _Peer(connection)
            self._selector.register(connection, selectors.EVENT_READ)
        elif source is self._wake_read:
            with suppress(BlockingIOError):
                self._wake_read.recv(4096)
        elif isinstance(source, socket.socket) and source in self._peers:
            self._read(self._peers[source])

    def _read(self, peer: _Peer) -> None:
        try:
            data = peer.connection.recv(256 * 1024)
            for frame in peer.decoder.feed(data):
                self._on_frame(peer, frame)
        except (OSError, Rejected) as error:
            print(f"the connection to a daemon failed: {error}", file=sys.stderr, flush=True)
            data = b""
        if not data:
            self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        if self._peers.pop(peer.connection, None):
            self._selector.unregister(peer.connection)
            peer.connection.close()

    def _on_frame(self, peer: _Peer, frame: wire.Frame) -> None:
        match frame:
            case wire.Greeting():
                if not wire.OLDEST <= frame.version <= wire.VERSION:
                    reason = (
                        f"protocol version {frame.version} is not supported ({wire.OLDEST} to {wire.VERSION})"
                    )
                    raise Rejected("version", reason)
                peer.greeted = True
                for process in self._family:
                    self._send(peer, process)
                self._send(peer, wire.Ready(os.getpid(), self._warm))
            case wire.Start():
                self._start(frame)
            case wire.OpenRendezvous():
                self._open_rendezvous(frame)
            case wire.Kill():
                if frame.number == signal.SIGKILL and not frame.name:
                    self._sandboxes.end(frame.run)
                self._family.kill(frame.run, frame.number, frame.name)
            case wire.Forget():
                self._sandboxes.end(frame.run)
                self._family.forget(frame.run)
            case wire.Quit():
                self._running = False

    def _start(self, start: wire.Start) -> None:
        if start.name in self._family:
            # A daemon that restarted before the response asks again.
            Path(start.file).unlink(missing_ok=True)
            return
        try:
            sandbox = self._sandbox_of(start)
            with open_report() as (reader, report):
                pid = sandbox.fork() if sandbox else os.fork()
                if pid == 0:
                    os.setsid()
                    become_rank(start.file, sandbox, report)
        except OSError as error:  # out of memory, too many processes, or the kernel refuses a sandbox
            failed = wire.ProcessFrame(start.name, start.run, 0, exit_code=CANNOT_START, error=str(error))
            self._broadcast(self._family.add(failed))
            return
        self._broadcast(self._family.add(wire.ProcessFrame(start.name, start.run, pid), reader))

    def _sandbox_of(self, frame: wire.Start | wire.OpenRendezvous) -> Sandbox | None:
        if frame.sandbox is None:
            return None
        return self._sandboxes.open(frame.run, wire.SandboxSpec(**frame.sandbox))  # type: ignore[arg-type]

    def _open_rendezvous(self, request: wire.OpenRendezvous) -> None:
        if request.name in self._family:
            return
        try:
            sandbox = self._sandbox_of(request)
        except OSError as error:
            failed = wire.ProcessFrame(request.name, request.run, 0, exit_code=CANNOT_START, error=str(error))
            self._broadcast(self._family.add(failed))
            return
        read, write = os.pipe()
        pid = sandbox.fork() if sandbox else os.fork()
        if pid == 0:
            os.setsid()
            serve(request, write, sandbox)
        os.close(write)
        answer = _read_answer(read)
        port = int(answer) if answer.isdigit() else 0
        why = "" if port else answer or "the rendezvous did not start"
        self._broadcast(
            self._family.add(wire.ProcessFrame(request.name, request.run, pid, port=port, error=why))
        )

    def _reap(self) -> None:
        for process in self._family.reap():
            self._broadcast(process)

    def _check_idle(self) -> None:
        now = time.monotonic()
        if self._peers or self._family.has_living():
            self._idle_since = now
        elif now - self._idle_since > self._idle_exit_s:
            self._running = False

    def _broadcast(self, process: wire.ProcessFrame) -> None:
        for peer in list(self._peers.values()):
            if peer.greeted:
                self._send(peer, process)

    def _send(self, peer: _Peer, frame: wire.Frame) -> None:
        try:
            peer.connection.sendall(wire.encode(frame))
        except OSError:
            self._drop(peer)

    def _end_all(self) -> None:
        for process in self._family:
            self._sandboxes.end(process.run)
            self._family.kill(process.run, signal.SIGKILL)
        deadline = time.monotonic() + 5
        while self._family.has_living() and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.01)


def _read_answer(pipe: int) -> str:
    """Return the output of the rendezvous within the time limit; blocking is acceptable, because the gang's start waits for it."""
    selector = selectors.DefaultSelector()
    selector.register(pipe, selectors.EVENT_READ)
    try:
        return os.read(pipe, 4096).decode() if selector.select(PORT_WAIT_S) else ""
    finally:
        selector.close()
        os.close(pipe)
