"""Attack: any process of the machine connects to the embedded Redis without a password and fills the memory."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

import psutil
import pytest
from redis import Redis
from redis.exceptions import RedisError

from deploy.embedded.servers import RedisServer

MIB = 1024 * 1024
NOBODY = 65534
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
PINGS = b"PING\r\n" * (MIB // 6)
"""Each is answered with a refusal. A client that reads none makes the server keep them."""
GROWTH_MAX = 160 * MIB
"""The data set's limit of 64 MiB, the buffers of the test's connections, and fragmentation."""


def test_no_port_is_open(redis_server: RedisServer) -> None:
    assert not psutil.Process(redis_server.pid).net_connections("inet")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_cannot_reach_the_socket(redis_server: RedisServer) -> None:
    command = [sys.executable, "-S", "-c", CONNECT, socket_of(redis_server)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    stranger = subprocess.run(
        ["/usr/bin/env", "python3", *command[1:]],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        cwd="/",
    )
    assert "PermissionError" in stranger.stderr


def test_connections_without_a_password_take_no_memory(redis_server: RedisServer) -> None:
    before = memory(redis_server)
    with ExitStack() as stack:
        for _ in range(3):
            stranger = stack.enter_context(socket.socket(socket.AF_UNIX))
            stranger.settimeout(2.0)
            stranger.connect(socket_of(redis_server))
            with suppress(OSError):
                for _ in range(50):
                    stranger.sendall(PINGS)
        assert memory(redis_server) - before < GROWTH_MAX


def test_an_authenticated_client_cannot_fill_the_memory(redis_server: RedisServer) -> None:
    before = memory(redis_server)
    with Redis.from_url(redis_server.url, retry=None) as client:
        with pytest.raises(RedisError):
            client.set("large", b"x" * 8 * MIB)
        for number in range(400):
            client.set(f"filler-{number}", b"x" * (MIB // 2))
        assert memory(redis_server) - before < GROWTH_MAX
        client.flushall()


def test_the_number_of_connections_is_limited(redis_server: RedisServer) -> None:
    with ExitStack() as stack:
        answers = []
        for _ in range(200):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(2.0)
            with suppress(OSError):
                client.connect(socket_of(redis_server))
                client.sendall(b"PING\r\n")
                answers.append(client.recv(64))
    served = [answer for answer in answers if b"NOAUTH" in answer]
    assert 0 < len(served) <= 128, "the others are told so, or find the connection closed"


def socket_of(server: RedisServer) -> str:
    return str(server.socket)


def memory(server: RedisServer) -> int:
    return int(psutil.Process(server.pid).memory_info().rss)
