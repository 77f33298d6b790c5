"""`muster doctor` on a machine with something broken: a full disk, a used port, an expired certificate, a missing kernel feature."""

import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deploy.checks.findings import Check, Finding, Level, ok, run_checks
from deploy.checks.machine.clock import RemoteClock, check_clock
from deploy.checks.machine.disk import check_disk
from deploy.checks.machine.gpus import check_gpus
from deploy.checks.machine.kernel import check_openat2, check_sandboxes, check_seccomp
from deploy.checks.machine.ports import ListeningPort, check_port
from deploy.checks.machine.programs import (
    check_container_engine,
    check_network_programs,
    check_private_networks,
)
from deploy.checks.servers.certificates import check_certificate_file, check_server_certificate
from deploy.checks.servers.endpoints import Endpoint, endpoints_of
from deploy.checks.servers.names import check_name
from shared.clock import SystemClock
from tests.support.small_disk import filled, small_disk
from tests.support.test_ca import HERE, Authority, authority
from tests.support.unprivileged import as_unprivileged
from worker.machine.cgroups import refusal_of_limits
from worker.settings import WorkerSection

SIZE = 16 * 1024 * 1024
_OWN = "from worker.settings import WorkerSection; own = WorkerSection(id='w', directory='/nowhere')"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


def worker(tmp_path: Path, **settings: object) -> WorkerSection:
    return WorkerSection(id="w", directory=tmp_path, **settings)


def test_a_full_disk_is_an_error_and_space_is_not(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", SIZE) as disk:
        assert check_disk(disk / "not" / "made", needed_bytes=SIZE // 2).level is Level.OK
        with filled(disk):
            found = check_disk(disk, needed_bytes=SIZE // 2)
    assert found.level is Level.ERROR and "0 MiB of 16 MiB free" in found.found and found.remedy


def test_a_disk_without_inodes_is_an_error(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", SIZE, "nr_inodes=100") as disk:
        found = check_disk(disk, needed_bytes=1)
    assert found.level is Level.ERROR and "inode" in found.found


def test_a_folder_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert check_disk(tmp_path / "file" / "below").level is Level.ERROR


def test_a_used_port_is_an_error_with_the_program() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        wanted = ListeningPort("MUSTER_GATEWAY__PORT", "127.0.0.1", port, "services.gateway")
        found = check_port(wanted)
        assert found.level is Level.ERROR and f"(pid {os.getpid()})" in found.found
        assert "MUSTER_GATEWAY__PORT" in found.remedy
        # The same port on all addresses is used as well.
        assert check_port(ListeningPort("X", "0.0.0.0", port, "x")).level is Level.ERROR
    assert check_port(wanted).level is Level.OK


def test_a_port_of_the_process_itself_is_ok(tmp_path: Path) -> None:
    script = "import socket, sys, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)"
    running = subprocess.Popen([sys.executable, "-c", script, "services.gateway"], stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        port = int(running.stdout.readline())
        found = check_port(ListeningPort("MUSTER_GATEWAY__PORT", "127.0.0.1", port, "services.gateway"))
    finally:
        running.kill()
        running.wait()
    assert found.level is Level.OK and "running services.gateway" in found.found


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    found = check_port(ListeningPort("MUSTER_GATEWAY__PORT", "192.0.2.1", 8080, "services.gateway"))
    assert found.level is Level.ERROR and "not an address of this machine" in found.found


def test_expired_and_expiring_certificates_are_found(tmp_path: Path) -> None:
    ca, now = authority("site"), datetime.now(UTC)
    file = tmp_path / "server.pem"
    for lasts, level, said in (
        (timedelta(minutes=-5), Level.ERROR, "expired on"),
        (timedelta(days=3), Level.WARNING, "expires on"),
        (timedelta(days=90), Level.OK, "valid until"),
    ):
        file.write_bytes(ca.issue(HERE, lasts=lasts)[0])
        found = check_certificate_file(file, now)
        assert (found.level, said in found.found) == (level, True), found
    file.write_text("no certificate")
    assert check_certificate_file(file, now).level is Level.ERROR
    assert check_certificate_file(tmp_path / "missing", now).level is Level.ERROR


@contextmanager
def tls_server(
    tmp_path: Path, pair: tuple[bytes, bytes], greeting: bytes = b"", reads_bytes: int = 0
) -> Iterator[int]:
    """A server that presents a certificate; after a greeting as NATS, or after reading a request as Postgres."""
    (tmp_path / "cert.pem").write_bytes(pair[0])
    (tmp_path / "key.pem").write_bytes(pair[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                plain.recv(reads_bytes)
                plain.sendall(greeting)
                context.wrap_socket(plain, server_side=True).close()
            except OSError:
                plain.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def ca(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that this machine trusts."""
    found = authority("site")
    (tmp_path / "ca.pem").write_bytes(found.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return found


@pytest.mark.parametrize(
    ("address", "greeting", "reads_bytes"),
    [
        ("https://127.0.0.1:{port}", b"", 0),
        ("tls://127.0.0.1:{port}", b'INFO {"tls_required":true}\r\n', 0),
        ("postgresql://u:p@127.0.0.1:{port}/muster?sslmode=verify-full", b"S", 8),
    ],
)
def test_certificates_of_servers_are_judged(
    tmp_path: Path, ca: Authority, address: str, greeting: bytes, reads_bytes: int
) -> None:
    def check(pair: tuple[bytes, bytes]) -> Finding:
        with tls_server(tmp_path, pair, greeting, reads_bytes) as port:
            (endpoint,) = endpoints_of("MUSTER_S3__URL", address.format(port=port))
            assert endpoint.uses_tls
            return check_server_certificate(endpoint, datetime.now(UTC))

    expired = check(ca.issue(HERE, lasts=timedelta(minutes=-5)))
    assert expired.level is Level.ERROR and "expired on" in expired.found
    assert check(ca.issue(HERE, lasts=timedelta(hours=5))).level is Level.WARNING
    assert check(ca.issue(HERE, lasts=timedelta(days=90))).level is Level.OK
    unknown = check(authority("stranger").issue(HERE, lasts=timedelta(days=90)))
    assert (
        unknown.level is Level.ERROR and "not accepted" in unknown.found and "SSL_CERT_FILE" in unknown.remedy
    )


def test_a_database_address_decides_what_is_verified(tmp_path: Path) -> None:
    ca = authority("database")
    (tmp_path / "database.pem").write_bytes(ca.pem)

    def check(options: str, greeting: bytes = b"S") -> Finding:
        with tls_server(tmp_path, ca.issue(HERE, lasts=timedelta(days=90)), greeting, 8) as port:
            (endpoint,) = endpoints_of(
                "MUSTER_POSTGRES__SYSTEM_URL", f"postgresql://127.0.0.1:{port}/m?{options}"
            )
            return check_server_certificate(endpoint, datetime.now(UTC))

    assert check("sslmode=require").level is Level.OK
    assert check("sslmode=verify-full").level is Level.ERROR
    assert check(f"sslmode=verify-full&sslrootcert={tmp_path}/database.pem").level is Level.OK
    assert "accepts no TLS" in check("sslmode=require", greeting=b"N").found


def test_a_server_without_tls_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = check_server_certificate(
        Endpoint("MUSTER_S3__URL", "https", "127.0.0.1", port), datetime.now(UTC)
    )
    assert found.level is Level.ERROR and "does not offer TLS" in found.found


def test_a_name_that_nobody_knows_is_an_error() -> None:
    (endpoint,) = endpoints_of("MUSTER_S3__URL", "https://muster-s3.invalid")
    found = check_name(endpoint)
    assert found.level is Level.ERROR and "MUSTER_S3__URL" in found.remedy
    (here,) = endpoints_of("MUSTER_S3__URL", "https://localhost:9000")
    assert check_name(here).level is Level.OK


def test_a_clock_that_differs_from_a_servers_is_found() -> None:
    def remote(by: timedelta) -> RemoteClock:
        return RemoteClock("Postgres", lambda: datetime.now(UTC) + by)

    clock = SystemClock()
    assert check_clock([remote(timedelta(0))], clock).level is Level.OK
    slow = check_clock([remote(timedelta(seconds=5))], clock)
    assert slow.level is Level.WARNING and "behind Postgres" in slow.found
    fast = check_clock([remote(timedelta(0)), remote(timedelta(hours=-1))], clock)
    assert fast.level is Level.ERROR and "ahead of Postgres" in fast.found


def test_a_silent_server_leaves_the_clock_to_the_other_checks() -> None:
    def silent() -> datetime:
        raise OSError("refused")

    found = check_clock([RemoteClock("Postgres", silent)], SystemClock())
    assert found.level in (Level.OK, Level.WARNING) and "Postgres did not answer" in found.found


@needs_root
def test_kernel_features_of_sandboxes_are_there_for_root(tmp_path: Path) -> None:
    found = [check_sandboxes(worker(tmp_path)), check_openat2(), check_seccomp()]
    assert [one.level for one in found] == [Level.OK] * 3, found


@needs_root
def test_a_worker_without_root_is_checked_as_its_user(tmp_path: Path) -> None:
    script = f"from deploy.checks.machine.kernel import *; {_OWN}; print(check_sandboxes(own), check_openat2(), check_seccomp())"
    folder = tmp_path / "home"
    folder.mkdir(mode=0o777)
    words = (*as_unprivileged(folder), sys.executable, "-c", script)
    ran = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(folder)}
    )
    assert "ERROR" not in ran.stdout and "runs get sandboxes" in ran.stdout


@needs_root
def test_a_container_that_refuses_namespaces_is_an_error() -> None:
    """The child of this test may call neither unshare nor mount, as in a container with the usual filter."""
    script = (
        "from muster.runtime.sandbox import kernel as k, seccomp; k.prctl(k.PR_SET_NO_NEW_PRIVS, 1); seccomp.restrict_calls();"
        f"from deploy.checks.machine.kernel import check_sandboxes; {_OWN}; print(check_sandboxes(own))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ERROR" in ran.stdout and "Operation not permitted" in ran.stdout and "CAP_SYS_ADMIN" in ran.stdout


def test_control_groups_without_a_controller_are_named(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/\n")
    (tmp_path / "cgroup.controllers").write_text("cpu pids\n")
    assert refusal_of_limits(tmp_path, own) == ("cgroup v2", f"{tmp_path} has no controller memory")
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    assert refusal_of_limits(tmp_path, own) == ("cgroup v2", None)
    (tmp_path / "cgroup.controllers").unlink()
    version, why = refusal_of_limits(tmp_path, own)
    assert version == "cgroup v1" and why is not None


def test_missing_programs_are_named_with_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = check_network_programs(worker(tmp_path))
    assert found.level is Level.WARNING and "apt install iproute2 nftables" in found.remedy
    assert check_network_programs(worker(tmp_path, network="private")).level is Level.ERROR
    assert check_private_networks(worker(tmp_path, network="private")).level is Level.ERROR
    assert check_container_engine(worker(tmp_path)).level is Level.WARNING
    assert check_container_engine(worker(tmp_path, container_engine="docker")).level is Level.ERROR
    assert check_container_engine(worker(tmp_path, sandbox="container")).level is Level.ERROR


def test_a_container_engine_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\necho cannot connect to the daemon >&2; exit 1\n")
    engine.chmod(0o755)
    found = check_container_engine(worker(tmp_path, container_engine=str(engine)))
    assert found.level is Level.ERROR and "cannot connect to the daemon" in found.found


def test_gpus_without_a_driver_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    device = tmp_path / "devices" / "0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    found = check_gpus(worker(tmp_path), {}, tmp_path / "devices")
    assert found.level is Level.ERROR and "1 NVIDIA GPU" in found.found and "driver" in found.remedy
    assert check_gpus(worker(tmp_path, kind="cuda"), {}, tmp_path / "none").level is Level.ERROR
    assert check_gpus(worker(tmp_path), {}, tmp_path / "none").level is Level.OK


def test_a_check_that_hangs_or_fails_does_not_stop_the_others() -> None:
    def hang() -> Finding:
        time.sleep(30)
        return ok("late")

    def fail() -> Finding:
        raise ZeroDivisionError("oops, at nats://me:hush@bus")

    begun = time.monotonic()
    results = run_checks(
        [
            Check("g", "hang", "", hang),
            Check("g", "fail", "", fail),
            Check("g", "good", "", lambda: ok("yes")),
        ],
        3.0,
    )
    assert time.monotonic() - begun < 20
    assert [(one.check, one.level) for one in results] == [
        ("hang", "error"),
        ("fail", "error"),
        ("good", "ok"),
    ]
    assert "3 s" in results[0].found and "oops, at nats://***@bus" in results[1].found
