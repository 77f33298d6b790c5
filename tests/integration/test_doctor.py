"""`muster doctor` on the real servers, as they should be and with one thing wrong."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.checks.findings import Level
from deploy.checks.servers.bus import BusLogin, check_bus
from deploy.checks.servers.postgres import check_postgres
from deploy.checks.servers.redis import check_redis
from deploy.checks.servers.store import check_object_lock, check_store
from deploy.checks.servers.web import check_gateway
from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers import NatsServer, RedisServer, S3Server
from deploy.embedded.servers.s3 import AUDIT_BUCKET
from deploy.embedded.services import SERVICES
from shared.auth.nats_jwt import WorkerIssuer, worker_token
from shared.clock import SystemClock
from shared.ids import WorkerId
from shared.messages.workers import Credentials
from shared.settings import PostgresSettings, RedisSettings, S3Settings
from tests.integration.servers import BUCKET, Servers, TestDatabase
from tests.support.command_line import Ended, run
from worker.connection.identity import load_identity
from worker.connection.join_command import JoinSettings
from worker.paths import WorkerPaths

Environment = Callable[[str], dict[str, str]]


def doctor(environment: dict[str, str], folder: Path, *processes: str) -> Ended:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    return run(
        "doctor", *processes, "--json", "--timeout", "120", environment=kept | environment, folder=folder
    )


@pytest.fixture
def platform(settings: Environment, s3_server: S3Server, tmp_path: Path) -> dict[str, str]:
    """The settings of gateway and registry in one environment; the registry's database is the gateway's."""
    port, grpc_port = free_ports(2)
    return settings("registry") | settings("gateway") | {
        "MUSTER_GATEWAY__ADMIN_TOKEN_FILE": str(tmp_path / "admin-token"),
        "MUSTER_GATEWAY__PORT": str(port),
        "MUSTER_GATEWAY__GRPC_PORT": str(grpc_port),
        "MUSTER_GATEWAY__AUDIT_STORE__URL": s3_server.url,
        "MUSTER_GATEWAY__AUDIT_STORE__ACCESS_KEY": s3_server.audit[0],
        "MUSTER_GATEWAY__AUDIT_STORE__SECRET_KEY": s3_server.audit[1],
    }  # fmt: skip


def test_a_good_machine_passes_and_a_wrong_port_is_the_only_error(
    platform: dict[str, str], tmp_path: Path
) -> None:
    ended = doctor(platform, tmp_path, "gateway")
    assert ended.code == 0, ended
    checks = {one["check"]: one for one in json.loads(ended.out)["checks"]}
    assert {
        "clock",
        "gateway",
        "NATS as gateway",
        "Postgres as gateway",
        "Redis",
        "audit store",
    } <= checks.keys()
    assert {one["level"] for name, one in checks.items() if not name.startswith("disk")} == {"ok"}, checks
    assert all(one["why"] and one["found"] for one in checks.values())

    closed = free_ports(1)[0]
    ended = doctor(platform | {"MUSTER_NATS__URL": f"nats://127.0.0.1:{closed}"}, tmp_path, "gateway")
    found = json.loads(ended.out)
    assert ended.code == 1 and found["ok"] is False
    (wrong,) = [one for one in found["checks"] if one["level"] == "error"]
    assert wrong["check"] == "NATS as gateway" and str(closed) in wrong["found"] and wrong["remedy"]
    assert len(found["checks"]) == len(checks)


def test_wrong_settings_are_an_error_of_the_doctor_too(platform: dict[str, str], tmp_path: Path) -> None:
    ended = doctor(platform | {"MUSTER_GATEWAY__PORT": "many"}, tmp_path, "gateway")
    assert ended.code == 1
    (wrong,) = [one for one in json.loads(ended.out)["checks"] if one["level"] == "error"]
    assert wrong["check"] == "gateway" and "muster config check gateway" in wrong["remedy"]
    ended = doctor(platform | {"MUSTER_GATEWAY_PORT": "80"}, tmp_path, "gateway")
    (wrong,) = [one for one in json.loads(ended.out)["checks"] if one["level"] == "error"]
    assert wrong["check"] == "names" and "MUSTER_GATEWAY__PORT" in wrong["remedy"]


def test_a_machine_before_its_join_is_checked_as_a_worker(tmp_path: Path) -> None:
    for processes in ((), ("worker",)):
        ended = doctor({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}, tmp_path, *processes)
        checks = {one["check"]: one["level"] for one in json.loads(ended.out)["checks"]}
        expected = {"sandboxes", "openat2", "seccomp", "control groups", "private networks", "GPUs"}
        assert expected <= checks.keys() and checks.get("worker", "warning") == "warning"


def test_the_bus_accepts_its_services_and_refuses_others(
    servers: Servers, nats_server: NatsServer, tmp_path: Path
) -> None:
    credentials = servers.keys.credentials("registry")
    for service in SERVICES:
        found = check_bus(BusLogin(service, nats_server.url, servers.keys.credentials(service)))
        assert found.level is Level.OK and "NATS 2." in found.found, found
    stranger = tmp_path / "registry.creds"
    seed = credentials.read_text().partition("-----BEGIN USER NKEY SEED-----")
    other = servers.keys.credentials("searcher").read_text().partition("-----BEGIN USER NKEY SEED-----")
    stranger.write_text(seed[0] + other[1] + other[2])
    found = check_bus(BusLogin("registry", nats_server.url, stranger))
    assert found.level is Level.ERROR and "refuses the credentials" in found.found
    # One server of a cluster that does not answer is an error, although clients would use the other.
    two = f"{nats_server.url},nats://127.0.0.1:{free_ports(1)[0]}"
    assert check_bus(BusLogin("registry", two, credentials)).level is Level.ERROR


def test_a_workers_credentials_are_tried(servers: Servers, nats_server: NatsServer, tmp_path: Path) -> None:
    folder = tmp_path / "muster" / "worker"
    paths = WorkerPaths(folder)
    paths.make(is_shared=False)
    identity, now = load_identity(paths.identity), SystemClock().now()
    closed = free_ports(1)[0]
    joined = JoinSettings(url=f"http://127.0.0.1:{closed}", id="w1", address="127.0.0.1", kind="cpu")

    def check(until: datetime) -> dict[str, dict[str, str]]:
        issuer = WorkerIssuer.from_json(servers.keys.worker_issuer.read_text())
        jwt = worker_token(issuer, "w1", identity.user_key, now=now, until=until)
        identity.keep(Credentials(worker=WorkerId("w1"), jwt=jwt, nats_url=nats_server.url, expires_at=until))
        ended = doctor(joined.environment(folder), tmp_path)
        return {one["check"]: one for one in json.loads(ended.out)["checks"]}

    found = check(now + timedelta(hours=1))
    assert found["worker's credentials"]["level"] == "ok", found["worker's credentials"]
    assert found[f"gateway http://127.0.0.1:{closed}"]["level"] == "error"
    assert found["worker"]["level"] == "ok", found["worker"]
    expired = check(now - timedelta(minutes=1))["worker's credentials"]
    assert expired["level"] == "error" and "muster worker token" in expired["remedy"]


def test_postgres_is_checked_with_both_logins_and_the_schema(
    servers: Servers, postgres: TestDatabase
) -> None:
    urls = postgres.urls["registry"]
    right = PostgresSettings(tenant_url=urls.tenant, system_url=urls.system)
    found = check_postgres(right, "registry")
    assert found.level is Level.OK and "is current" in found.found
    many = right.model_copy(update={"pool_size": 100})
    assert check_postgres(many, "registry").level is Level.WARNING
    wrong_password = (
        urls.system.replace("://muster", "://muster", 1).replace(":", ":x", 2).replace(":x//", "://", 1)
    )
    found = check_postgres(PostgresSettings(tenant_url=urls.tenant, system_url=wrong_password), "registry")
    assert found.level is Level.ERROR and "MUSTER_POSTGRES__SYSTEM_URL is refused" in found.found
    empty = servers.new_database()
    bare = PostgresSettings(
        tenant_url=empty.urls["registry"].tenant, system_url=empty.urls["registry"].system
    )
    found = check_postgres(bare, "registry")
    assert found.level is Level.ERROR and "muster database migrate" in found.found
    closed = f"postgresql://a:hush@127.0.0.1:{free_ports(1)[0]}/x"
    found = check_postgres(PostgresSettings(tenant_url=closed, system_url=closed), "registry")
    assert found.level is Level.ERROR and "cannot be reached" in found.found


def test_redis_with_a_wrong_password_or_address_is_an_error(redis_server: RedisServer) -> None:
    assert check_redis(RedisSettings(url=redis_server.url)).level is Level.OK
    wrong = redis_server.url.replace(redis_server.password, "wrong")
    assert check_redis(RedisSettings(url=wrong)).level is Level.ERROR
    closed = f"redis://127.0.0.1:{free_ports(1)[0]}/0"
    assert check_redis(RedisSettings(url=closed)).level is Level.ERROR


def store(server: S3Server, bucket: str = BUCKET, **more: str) -> S3Settings:
    access_key, secret_key = server.platform
    given = {"url": server.url, "access_key": access_key, "secret_key": secret_key, "bucket": bucket}
    return S3Settings(**(given | more))


def test_the_store_is_tried_and_left_as_it_was(s3_server: S3Server) -> None:
    assert check_store(store(s3_server)).level is Level.OK
    for wrong in (
        store(s3_server, "missing"),
        store(s3_server, secret_key="wrong"),
        store(s3_server, url=f"http://127.0.0.1:{free_ports(1)[0]}"),
    ):
        found = check_store(wrong)
        assert found.level is Level.ERROR and wrong.bucket in found.remedy


def test_object_lock_is_tried(s3_server: S3Server) -> None:
    access_key, secret_key = s3_server.administrator
    locked = store(s3_server, AUDIT_BUCKET, access_key=access_key, secret_key=secret_key)
    assert check_object_lock(locked).level is Level.OK
    plain = store(s3_server, BUCKET, access_key=access_key, secret_key=secret_key)
    found = check_object_lock(plain)
    assert found.level is Level.ERROR and "Object Lock" in found.remedy


@pytest.fixture
def careless_store() -> Iterator[str]:
    """A store that accepts every request and ignores conditions."""

    class Careless(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_DELETE = do_GET = do_PUT

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Careless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_store_without_conditional_writes_is_an_error(careless_store: str) -> None:
    settings = S3Settings(url=careless_store, access_key="a", secret_key="b")
    found = check_store(settings)
    assert found.level is Level.ERROR and "If-None-Match" in found.found


def test_another_server_at_the_gateways_address_is_an_error(careless_store: str) -> None:
    found = check_gateway(careless_store, "MUSTER_WORKER__GATEWAY_URL")
    assert found.level is Level.ERROR and "does not answer like a gateway" in found.found
    closed = check_gateway(f"http://127.0.0.1:{free_ports(1)[0]}", "MUSTER_WORKER__GATEWAY_URL")
    assert closed.level is Level.ERROR and "cannot be reached" in closed.found
