"""Attack: a client without credentials asks every port of the embedded object store for its pages, its objects, and to change them."""

import http.client
import io
import os
import socket
import ssl
import subprocess
from pathlib import Path

import psutil
import pytest
from minio import Minio

from deploy.embedded.host.ports import LOOPBACK
from deploy.embedded.servers import S3Server
from deploy.embedded.servers.s3 import CERTIFICATE, KEY

NOBODY = 65534
CONTENT = b"another tenant's weights"
PAGES = (
    "/", "/?metadata=true", "/ui/index.html", "/dir/status", "/dir/lookup?volumeId=1", "/dir/assign", "/cluster/status",
    "/cluster/healthz", "/vol/status", "/vol/grow?count=1", "/col/delete?collection=muster", "/submit", "/status", "/healthz",
    "/readyz", "/stats/counter", "/stats/memory", "/stats/disk", "/metrics", "/debug/pprof/goroutine?debug=1", "/favicon.ico",
    "/seaweedfsstatic/favicon.ico", "/.tus/", "/topics/", "/etc/iam/identity.json", "/?Action=ListUsers&Version=2010-05-08",
    "/muster", "/muster?list-type=2", "/muster?policy", "/muster/kept", "/muster/planted", "/buckets/", "/buckets/muster/kept",
    "/1,01637037d6",
)  # fmt: skip
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE")
HEALTH = {"/status", "/healthz", "/readyz"}
"""The S3 port answers these, and preflight requests of browsers, with an empty body."""
CONNECT = """
import socket, sys
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("connected to", path)
    except PermissionError:
        print("refused")
"""


@pytest.fixture(scope="module", autouse=True)
def client(s3_server: S3Server) -> Minio:
    """The platform's own client, after it stored an object."""
    access, secret = s3_server.platform
    client = Minio(f"{LOOPBACK}:{s3_server.port}", access, secret, secure=False, region="us-east-1")
    client.put_object("muster", "kept", io.BytesIO(CONTENT), len(CONTENT))
    return client


def test_the_store_listens_on_its_known_ports_of_this_machine_only(s3_server: S3Server) -> None:
    listening = psutil.Process(s3_server.pid).net_connections("inet")
    open_at = {tuple(one.laddr) for one in listening if one.status == psutil.CONN_LISTEN}
    assert open_at == {(LOOPBACK, port) for port in s3_server.ports}


@pytest.mark.parametrize("method", METHODS)
def test_no_page_answers_an_anonymous_client(s3_server: S3Server, client: Minio, method: str) -> None:
    answered, encrypted = [], _context()
    before = _objects(client)
    for port in s3_server.ports:
        for page in PAGES:
            for context in (None, encrypted):
                status, body = _ask(port, method, page, context)
                is_empty = port == s3_server.port and (page in HEALTH or method == "OPTIONS") and not body
                if status < 400 and not is_empty:
                    answered.append((port - s3_server.port, method, page, status, body[:60]))
                assert CONTENT not in body
    assert not answered
    assert client.get_object("muster", "kept").read() == CONTENT
    assert _objects(client) == before


def test_inner_ports_refuse_a_client_without_a_certificate(s3_server: S3Server) -> None:
    """HTTP and gRPC alike: no request is read before the certificate."""
    for port in s3_server.ports[1:]:
        with socket.create_connection((LOOPBACK, port), timeout=5) as plain, pytest.raises(ssl.SSLError):
            _greet(_context(), plain)


def test_the_certificate_alone_reads_no_object(s3_server: S3Server) -> None:
    """Volumes and the filer also require a token; the master's pages are off."""
    context = _context()
    folder = s3_server.certificates
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    _, _, master, _, volume, _, filer, _ = s3_server.ports
    for port, page in ((master, "/dir/assign"), (volume, "/1,01637037d6"), (filer, "/buckets/muster/kept")):
        status, body = _ask(port, "GET", page, context)
        assert status in (401, 404)
        assert CONTENT not in body


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_cannot_reach_its_unix_sockets(s3_server: S3Server) -> None:
    found = psutil.Process(s3_server.pid).net_connections("unix")
    sockets = sorted({path for path in (str(one.laddr) for one in found) if Path(path).is_socket()})
    stranger = subprocess.run(
        ["/usr/bin/env", "python3", "-c", CONNECT, *sockets],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        cwd="/",
    )
    assert stranger.stdout.split() == ["refused"] * len(sockets)
    assert sockets


def _objects(client: Minio) -> list[str]:
    """The names of all objects in the bucket, also those of tests that used this server before."""
    return sorted(str(found.object_name) for found in client.list_objects("muster", recursive=True))


def _ask(port: int, method: str, page: str, context: ssl.SSLContext | None) -> tuple[int, bytes]:
    """Return status and body of one anonymous request; 499 if there is no HTTP answer."""
    connection = (
        http.client.HTTPConnection(LOOPBACK, port, timeout=5)
        if context is None
        else http.client.HTTPSConnection(LOOPBACK, port, timeout=5, context=context)
    )
    try:
        connection.request(method, page, body=b"planted" if method in ("POST", "PUT") else None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 499, b""
    finally:
        connection.close()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _greet(context: ssl.SSLContext, plain: socket.socket) -> None:
    with context.wrap_socket(plain) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        while connection.recv(1024):
            pass
