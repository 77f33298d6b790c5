"""Composes one embedded platform: servers to start or use, services, and their settings."""

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from deploy.embedded.database import own_database
from deploy.embedded.environment import AUDIT_STORE, Addresses, S3Address, service_environment
from deploy.embedded.first_start.initialise import done_file, run_step
from deploy.embedded.host.ports import LOOPBACK, free_ports
from deploy.embedded.host.users import find_trial_user
from deploy.embedded.options import NICENESS, Options
from deploy.embedded.servers import Daemon, Home, NatsServer, PostgresServer, RedisServer, S3Server
from deploy.embedded.servers.base import write_private
from deploy.embedded.servers.s3 import AUDIT_BUCKET, BUCKET, PORTS_NEEDED
from deploy.embedded.services import SERVICES, Service
from deploy.embedded.supervision.orphan_processes import WORKERS_FOLDER
from deploy.embedded.supervision.supervised_process import SupervisedProcess
from deploy.keys.directory import Keys
from worker.sandbox.refusal import refusal_of_sandboxes
from worker.sandbox.sandboxing import account_to_try
from worker.settings import UID_RANGE

Found = TypeVar("Found", bound=Daemon)
Step = Callable[[], None]
TRACES_FOLDER = "traces"
SPOOL_FOLDER = "spool"
TRUSTED = "MUSTER_SCHEDULER__DEFAULT_POOL__TRUSTED"


@dataclass(frozen=True, slots=True)
class Gateway:
    """The addresses for users, and the administrator's token."""

    url: str
    grpc: str
    token_file: Path


class Platform:
    """The parts of one platform, before their start."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.home = Home(options.home)
        self.home.make()
        for folder, mode in ((TRACES_FOLDER, 0o700), (SPOOL_FOLDER, 0o700), (WORKERS_FOLDER, 0o711)):
            (self.home.root / folder).mkdir(exist_ok=True)
            (self.home.root / folder).chmod(mode)
        self.keys = Keys(options.keys)
        self.servers = self._servers()
        rest, grpc, *sides = self._service_ports()
        self.gateway = Gateway(f"http://{LOOPBACK}:{rest}", f"{LOOPBACK}:{grpc}", self._admin_token())
        self.services = self._services(rest, grpc, sides)

    def processes(self) -> tuple[SupervisedProcess, ...]:
        """Return all processes to supervise, servers first."""
        servers = [SupervisedProcess(server, "server") for server in self.servers]
        services = [SupervisedProcess(service, "service") for service in self.services]
        return (*servers, *services)

    def before(self) -> dict[str, Step]:
        """Return the steps before each server's first start, by server name; they are slow and independent."""
        steps: dict[str, Step] = {"nats": self._make_keys}
        if s3 := self._find(S3Server):
            job = {"directory": str(s3.certificates)}
            steps["s3"] = lambda: run_step("certificates", job, done_file(self.home, "certificates"))
        if postgres := self._find(PostgresServer):
            steps["postgres"] = postgres.prepare
        return steps

    def after(self) -> dict[str, Step]:
        """Return the set-up steps of running servers, by server name; services wait for them."""
        return {"postgres": self._make_database, "s3": self._make_bucket}

    def external(self) -> tuple[str, ...]:
        """Return the names of existing servers that are used."""
        started = {server.name for server in self.servers}
        return tuple(name for name in ("nats", "postgres", "redis", "s3") if name not in started)

    def _make_keys(self) -> None:
        run_step("keys", {"directory": str(self.keys.directory)}, done_file(self.home, "keys"))

    def _make_database(self) -> None:
        wanted = own_database(self.home, self.options)
        owns_server = self._find(PostgresServer) is not None
        job = {
            "administrator_url": wanted.administrator_url,
            "platform": wanted.platform,
            "passwords": json.dumps(wanted.passwords, sort_keys=True),
            "name": wanted.name,
            "owns_server": json.dumps(owns_server),
        }
        # An external server may belong to another platform since the last start.
        run_step("database", job, done_file(self.home, "database") if owns_server else None)

    def _make_bucket(self) -> None:
        started = self._find(S3Server)
        s3, pair = self._s3, started.administrator if started else (self._s3.access_key, self._s3.secret_key)
        job = {"url": s3.url, "access_key": pair[0], "secret_key": pair[1], "bucket": s3.bucket}
        if started:
            job["audit_bucket"] = AUDIT_BUCKET
        run_step("bucket", job, done_file(self.home, "bucket"))

    def _servers(self) -> tuple[Daemon, ...]:
        options = self.options
        nats, *s3 = free_ports(1 + PORTS_NEEDED)
        servers: list[Daemon] = []
        if options.postgres_url is None:
            servers.append(PostgresServer(self.home))
        if options.nats_url is None:
            servers.append(NatsServer(self.home, nats, self.keys))
        if options.redis_url is None:
            servers.append(RedisServer(self.home))
        if options.s3 is None:
            servers.append(S3Server(self.home, tuple(s3), options.runs_niceness))
        return tuple(servers)

    def _services(self, rest: int, grpc: int, sides: list[int]) -> tuple[Service, ...]:
        return tuple(
            Service(
                self.home,
                name,
                side,
                partial(self._environment, name, rest, grpc),
                (rest, grpc) if name == "gateway" else (),
            )
            for name, side in zip(SERVICES, sides, strict=True)
        )

    def _environment(self, service: str, rest: int, grpc: int) -> dict[str, str]:
        return {
            **self.options.inherited,
            NICENESS: str(self.options.runs_niceness),
            **service_environment(service, self._addresses()),
            "MUSTER_SIDE__TOKEN": self.home.secret("side-token"),
            "MUSTER_TELEMETRY__DIRECTORY": str(self.home.root / TRACES_FOLDER),
            **self._own(service, rest, grpc),
        }

    def _own(self, service: str, rest: int, grpc: int) -> dict[str, str]:
        """Return the settings of one service only."""
        match service:
            case "gateway":
                return {
                    "MUSTER_GATEWAY__PORT": str(rest),
                    "MUSTER_GATEWAY__GRPC_PORT": str(grpc),
                    "MUSTER_GATEWAY__ADMIN_TOKEN_FILE": str(self.gateway.token_file),
                    "MUSTER_GATEWAY__SPOOL_DIRECTORY": str(self.home.root / SPOOL_FOLDER),
                }
            case "provisioner":
                trial_user = find_trial_user()
                return {
                    **({"MUSTER_WORKER__USER": trial_user} if trial_user and not self._names_user() else {}),
                    "MUSTER_PROVISIONER__DIRECTORY": str(self.home.root / WORKERS_FOLDER),
                    "MUSTER_PROVISIONER__GATEWAY_URL": self.gateway.url,
                }
            case "scheduler" if TRUSTED not in self.options.inherited:
                return {TRUSTED: str(not self._isolates()).lower()}
            case _:
                return {}

    def _isolates(self) -> bool:
        """Whether the platform's workers are root and can make sandboxes. Otherwise its pools serve one tenant only: without root, runs reach the platform's ports."""
        if os.geteuid() != 0 or self.options.inherited.get("MUSTER_WORKER__SANDBOX") == "none":
            return False
        uid_range = self.options.inherited.get("MUSTER_WORKER__UID_RANGE", UID_RANGE)
        return refusal_of_sandboxes(account_to_try(uid_range)) is None

    def _names_user(self) -> bool:
        """Whether the caller set the trial user; empty means the worker's own user."""
        return "MUSTER_WORKER__USER" in self.options.inherited

    def _addresses(self) -> Addresses:
        nats, redis = self._find(NatsServer), self._find(RedisServer)
        return Addresses(
            nats_url=nats.url if nats else self.options.nats_url or "",
            credentials={name: self.keys.credentials(name) for name in SERVICES},
            worker_issuer=self.keys.worker_issuer,
            postgres=own_database(self.home, self.options).urls,
            redis_url=redis.url if redis else self.options.redis_url or "",
            s3=self._s3,
            audit_store=self._audit_store,
        )

    @property
    def _s3(self) -> S3Address:
        s3 = self._find(S3Server)
        if s3 is None:
            assert self.options.s3 is not None
            return self.options.s3
        return S3Address(s3.url, *s3.platform, BUCKET)

    @property
    def _audit_store(self) -> S3Address | None:
        """The store that is started here, unless the caller names another."""
        s3 = self._find(S3Server)
        if s3 is None or f"{AUDIT_STORE}URL" in self.options.inherited:
            return None
        return S3Address(s3.url, *s3.audit, AUDIT_BUCKET)

    def _find(self, kind: type[Found]) -> Found | None:
        return next((server for server in self.servers if isinstance(server, kind)), None)

    def _service_ports(self) -> tuple[int, ...]:
        spare = iter(free_ports(2 + len(SERVICES)))
        return (
            self.options.rest_port or next(spare),
            self.options.grpc_port or next(spare),
            *(next(spare) for _ in SERVICES),
        )

    def _admin_token(self) -> Path:
        path = self.home.secrets / "admin-token"
        if not path.exists():
            write_private(path, "mst_" + base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode())
        return path
