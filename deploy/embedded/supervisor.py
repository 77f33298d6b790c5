"""The process behind `muster up`: starts servers and services, keeps them running, stops them in order.

It holds a lock on the directory. Signals arrive through a socket, so that one loop handles everything.
"""

import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from deploy.embedded.host.processes import ProcessId
from deploy.embedded.options import Options, load_options
from deploy.embedded.platform import Platform
from deploy.embedded.preflight import check_disk, check_ports
from deploy.embedded.servers.base import write_private
from deploy.embedded.state import Part, Phase, State
from deploy.embedded.supervision.logfiles import rotate_logs
from deploy.embedded.supervision.orphan_processes import end_leftovers, end_workers
from deploy.embedded.supervision.supervised_process import SupervisedProcess
from muster.errors import Broken, Conflict, MusterError, Rejected

CLIENT_FILE = "client.json"
LOCK_FILE = "lock"
_BUSY_PAUSE_S = 0.05
_STEADY_PAUSE_S = 1.0
_ROTATE_EVERY_S = 30.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Lock the platform's directory.

    Raises:
        Conflict: another supervisor has it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / LOCK_FILE).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict("already_up", f"a platform already runs in {home}; see `muster status`") from error
        yield


class Supervisor:
    """One run of a platform, from its start to its end."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.home = platform.home.root
        self.processes = platform.processes()
        self.phase: Phase = "starting"
        self._me = ProcessId.of(os.getpid())
        self._ending = False
        self._wake, self._signals = socket.socketpair()
        self._before: dict[str, Future[None]] = {}
        self._after: dict[str, Future[None]] = {}

    def run(self) -> None:
        """Start everything, keep it running until a signal, and stop it.

        Raises:
            MusterError: a part did not start; all others were stopped.
        """
        self._listen()
        try:
            self._save()
            # Nothing waits here: steps are separate processes, and services wait for their servers.
            with ThreadPoolExecutor() as executor:
                self._before = {name: executor.submit(step) for name, step in self.platform.before().items()}
                self._loop(executor)
        except BaseException as error:
            self._end("failed", _sentence(error, self.home))
            raise
        self._end("stopped")

    def _loop(self, executor: Executor) -> None:
        rotate_at = time.monotonic() + _ROTATE_EVERY_S
        while not self._ending:
            changed = self._tick()
            self._set_up_servers(executor)
            if changed or (self.phase == "starting" and self._is_ready()):
                self._settle()
            if time.monotonic() >= rotate_at:
                rotate_logs(self.platform.home.logs)
                rotate_at = time.monotonic() + _ROTATE_EVERY_S
            self._wait(_STEADY_PAUSE_S if self.phase == "ready" and self._is_steady() else _BUSY_PAUSE_S)

    def _tick(self) -> bool:
        """Run due actions; return whether something changed."""
        now = time.monotonic()
        changed = [
            process.tick(now) for process in self.processes if _is_done(self._before.get(process.name))
        ]
        return any(changed)

    def _set_up_servers(self, executor: Executor) -> None:
        """Set up each server once it runs for the first time; external ones run already."""
        running = {process.name for process in self.processes if process.state == "running"}
        for name, step in self.platform.after().items():
            if name not in self._after and name in (*running, *self.platform.external()):
                self._after[name] = executor.submit(step)

    def _settle(self) -> None:
        """Save changes; the platform becomes ready when all parts run for the first time."""
        if self.phase == "starting" and self._is_ready():
            self._write_client_file()
            self.phase = "ready"
        self._save()

    def _is_ready(self) -> bool:
        """Whether all parts are prepared, running and set up."""
        done = [_is_done(step) for step in (*self._before.values(), *self._after.values())]
        return all(done) and self._is_steady()

    def _is_steady(self) -> bool:
        return all(process.state == "running" for process in self.processes)

    def _write_client_file(self) -> None:
        gateway = self.platform.gateway
        token = gateway.token_file.read_text().strip()
        fresh = self.home / f"{CLIENT_FILE}.new"
        write_private(fresh, json.dumps({"url": gateway.url, "grpc": gateway.grpc, "token": token}))
        fresh.replace(self.home / CLIENT_FILE)

    def _end(self, phase: Phase, message: str = "") -> None:
        """Stop the gateway first, then other services, workers with their ranks, servers, and Postgres last."""
        self.phase = "stopping" if phase == "stopped" else phase
        self._save(message)
        (self.home / CLIENT_FILE).unlink(missing_ok=True)
        services = [process for process in self.processes if process.kind == "service"]
        servers = [process for process in self.processes if process.kind == "server"]
        gateway = [process for process in services if process.name == "gateway"]
        record = [process for process in servers if process.name == "postgres"]
        for group in (gateway, services):
            _stop_together(group)
        end_workers(self.home)
        for group in ([process for process in servers if process not in record], record):
            _stop_together(group)
        self.phase = phase
        self._save(message)

    def _save(self, message: str = "") -> None:
        gateway = self.platform.gateway
        external = tuple(Part(name, "server", "external") for name in self.platform.external())
        assert self._me is not None
        state = State(
            self.phase,
            self._me,
            gateway.url,
            gateway.grpc,
            message,
            (*(process.part() for process in self.processes), *external),
        )
        try:
            state.save(self.home)
        except OSError:
            if self.phase == "starting":
                raise

    def _listen(self) -> None:
        self._signals.setblocking(False)
        signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        for number in (*_ENDING, signal.SIGCHLD):
            signal.signal(number, _noted)

    def _wait(self, pause_s: float) -> None:
        """Sleep until a child ends, a signal arrives, or the pause is over."""
        if select.select([self._wake], [], [], pause_s)[0]:
            received = self._wake.recv(4096)
            self._ending = self._ending or any(number in received for number in _ENDING)


def supervise(options: Options) -> None:
    """Run a platform in this process until it is stopped.

    Raises:
        MusterError: it cannot be started, with the reason.
    """
    try:
        with locked(options.home):
            end_leftovers(options.home)
            check_disk(options.home)
            check_ports(options)
            Supervisor(Platform(options)).run()
    except OSError as error:
        raise Broken(_sentence(error, options.home)) from error


def _stop_together(processes: list[SupervisedProcess]) -> None:
    if processes:
        with ThreadPoolExecutor(len(processes)) as executor:
            list(executor.map(SupervisedProcess.stop, processes))


def _is_done(step: "Future[None] | None") -> bool:
    """Whether a step has ended or does not exist; re-raises its error."""
    return step is None or (step.done() and step.result() is None)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Ignore the signal: its number is already in the socket."""


def _sentence(error: BaseException, home: Path) -> str:
    if isinstance(error, OSError):
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                return f"the disk that holds {home} is full; free some space and run `muster up` again"
            case errno.EACCES | errno.EPERM | errno.EROFS:
                return f"{error.filename or home} is not writable; set MUSTER_HOME to another directory"
            case _:
                return f"{error.strerror or error} ({error.filename or home})"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"a step of the start took longer than {error.timeout:g} s; the machine may be overloaded: run `muster up` again"
    return str(error)


def _main() -> int:
    try:
        supervise(load_options())
    except MusterError as error:
        hint = f": {error.hint}" if isinstance(error, Rejected) and error.hint else ""
        print(f"{error}{hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
