"""Attack 3: a process of another user joins a run's ranks, and reports in its name."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from muster import wire
from worker.ranks.server import RankServer
from worker.ranks.session import RankSession

STRANGER, OWNER = 431_001, 431_002
KNOCK = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(10)
client.connect(sys.argv[1])
client.sendall(bytes.fromhex(sys.argv[2]))
print(client.recv(4096))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be other users")
@pytest.mark.parametrize(("user", "is_asked"), [(STRANGER, False), (OWNER, True)])
async def test_only_the_runs_user_reaches_its_session(tmp_path: Path, user: int, is_asked: bool) -> None:
    asked: list[str] = []

    def find(token: str) -> RankSession | None:
        asked.append(token)
        return None

    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(0o755)
    server = RankServer(tmp_path / "ranks.sock", find, OWNER)
    server.open()
    try:
        hello = wire.encode(wire.Hello(token="the token of the run", rank=0, pid=1)).hex()
        answer = await _knock(tmp_path / "ranks.sock", hello, user)
    finally:
        server.close()
    print(f"tried: connect as user {user} with the run's token; got {answer!r}")
    assert asked == (["the token of the run"] if is_asked else [])
    assert ("does not know the run" in answer) == is_asked


async def _knock(path: Path, hello: str, user: int) -> str:
    import asyncio

    def run() -> str:
        done = subprocess.run(
            ["/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable, "-c", KNOCK, str(path), hello],
            user=user, group=user, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr

    assert socket.AF_UNIX
    return await asyncio.to_thread(run)
