"""Redis with a password and without persistence: it holds only caches."""

import socket
from pathlib import Path

from deploy.embedded.host.ports import LOOPBACK, accepts
from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import Daemon, Home, executable, plain_environment, write_private


class RedisServer(Daemon):
    """Rate limit buckets and caches."""

    name = "redis"

    def __init__(self, home: Home, port: int) -> None:
        super().__init__(home)
        self.port = port
        self.password = home.secret("redis-password")

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    @property
    def ports(self) -> tuple[int, ...]:
        return (self.port,)

    def prepare(self) -> None:
        self.home.data("redis").mkdir(parents=True, exist_ok=True)
        write_private(
            self._config,
            f"bind {LOOPBACK}\nport {self.port}\nrequirepass {self.password}\n"
            f'dir "{self.home.data("redis")}"\nsave ""\nappendonly no\n'
            "hz 1\nmaxmemory 64mb\nmaxmemory-policy allkeys-lru\ndaemonize no\nset-proc-title no\n",
        )

    def command(self) -> Command:
        directory = self.home.data("redis")
        return Command(
            arguments=(executable("redis-server"), str(self._config)),
            environment=plain_environment(self.home, directory),
            log=self.log,
            directory=directory,
        )

    def ready(self) -> bool:
        if not accepts(self.port):
            return False
        with socket.create_connection((LOOPBACK, self.port), timeout=1.0) as connection:
            connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            return b"+OK" in connection.recv(64)

    @property
    def _config(self) -> Path:
        return self.home.run / "redis.conf"
