"""Redis on a unix socket, with a password, limits on every client and without persistence: it holds only caches."""

import socket
from contextlib import suppress
from pathlib import Path

from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import (
    Daemon,
    Home,
    executable,
    plain_environment,
    private_directory,
    remove_from_temporary,
    socket_directory,
    write_private,
)

_SOCKET_NAME = "redis.sock"
_SETTINGS = (
    "port 0",
    "unixsocketperm 700",
    'save ""',
    "appendonly no",
    "hz 1",
    "maxmemory 64mb",
    "maxmemory-policy allkeys-lru",
    "maxclients 128",
    "client-query-buffer-limit 1mb",
    "proto-max-bulk-len 1mb",
    "client-output-buffer-limit normal 1mb 256kb 10",
    "client-output-buffer-limit replica 1mb 256kb 10",
    "client-output-buffer-limit pubsub 1mb 256kb 10",
    "daemonize no",
    "set-proc-title no",
)
"""A gateway replica uses up to 16 connections. Its requests and answers have less than a kilobyte."""


class RedisServer(Daemon):
    """Rate limit buckets and caches. Only the platform's user may enter the directory of the socket (decision 0290)."""

    name = "redis"

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.password = home.secret("redis-password")
        self.socket = socket_directory(home, self.name, _SOCKET_NAME) / _SOCKET_NAME

    @property
    def url(self) -> str:
        return f"unix://:{self.password}@{self.socket}?db=0"

    @property
    def ports(self) -> tuple[int, ...]:
        return ()

    def prepare(self) -> None:
        self.home.data("redis").mkdir(parents=True, exist_ok=True)
        private_directory(self.socket.parent)
        paths = {"dir": self.home.data("redis"), "unixsocket": self.socket}
        own = [f'{name} "{path}"' for name, path in paths.items()]
        write_private(self._config, "\n".join((*_SETTINGS, *own, f"requirepass {self.password}", "")))

    def command(self) -> Command:
        directory = self.home.data("redis")
        return Command(
            arguments=(executable("redis-server"), str(self._config)),
            environment=plain_environment(self.home, directory),
            log=self.log,
            directory=directory,
        )

    def ready(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(self.socket))
            connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            return b"+OK" in connection.recv(64)
        return False

    def clean(self) -> None:
        self.socket.unlink(missing_ok=True)
        remove_from_temporary(self.socket.parent)

    @property
    def _config(self) -> Path:
        return self.home.run / "redis.conf"
