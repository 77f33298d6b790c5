"""NATS in operator mode with JetStream that syncs every write; without a monitoring port."""

import shutil
import signal
import socket
from pathlib import Path

from deploy.embedded.host.ports import LOOPBACK, accepts
from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import (
    HEALTHY,
    Daemon,
    Health,
    Home,
    executable,
    plain_environment,
    write_private,
)
from deploy.keys.directory import Keys

MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_STORE = "64GB"
"""Above the sum of all streams' limits: by default the server reserves three quarters of the free disk and refuses streams beyond."""

FROZEN = b"critical write error"
ROOM_BYTES = 64 * 1024 * 1024


class NatsServer(Daemon):
    """The message bus."""

    name = "nats"

    def __init__(self, home: Home, port: int, keys: Keys) -> None:
        super().__init__(home)
        self.port = port
        self.keys = keys
        self._read_from = 0
        self._is_frozen = False

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    @property
    def ports(self) -> tuple[int, ...]:
        return (self.port,)

    @property
    def store(self) -> str:
        """JetStream's directory."""
        return str(self.home.data("nats"))

    def prepare(self) -> None:
        self.home.data("nats").mkdir(parents=True, exist_ok=True)
        write_private(self._config, self._configuration())

    def command(self) -> Command:
        directory = self.home.data("nats")
        return Command(
            arguments=(executable("nats-server"), "-c", str(self._config)),
            environment=plain_environment(self.home, directory),
            log=self.log,
            directory=directory,
            dies_with_parent=signal.SIGTERM,
        )

    def ready(self) -> bool:
        if not accepts(self.port):
            return False
        with socket.create_connection((LOOPBACK, self.port), timeout=1.0) as connection:
            return connection.recv(4) == b"INFO"

    def start(self) -> None:
        self._read_from = self.log.stat().st_size if self.log.exists() else 0
        self._is_frozen = False
        super().start()

    def check(self, now: float) -> Health:
        """Report a stream that froze after a failed write: it stays frozen even when the disk has space again."""
        if self.log.stat().st_size != self._read_from:
            with self.log.open("rb") as log:
                log.seek(min(self._read_from, self.log.stat().st_size))
                self._is_frozen = self._is_frozen or FROZEN in log.read().lower()
                self._read_from = log.tell()
        if not self._is_frozen:
            return HEALTHY
        has_room = shutil.disk_usage(self.home.root).free > ROOM_BYTES
        return Health("a stream refuses messages since a write to the disk failed", is_stuck=has_room)

    @property
    def _config(self) -> Path:
        return self.home.run / "nats.conf"

    def _configuration(self) -> str:
        return (
            f'server_name: "muster"\nhost: "{LOOPBACK}"\nport: {self.port}\n'
            f"max_payload: {MAX_PAYLOAD_BYTES}\nmax_pending: 64MB\nwrite_deadline: 10s\n"
            f'jetstream {{ store_dir: "{self.store}", sync_interval: always, max_memory_store: 64MB, max_file_store: {MAX_STORE} }}\n'
            + self.keys.server_conf.read_text()
        )
