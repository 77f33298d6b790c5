"""A stream that froze at a failed write needs another start of the server, once there is room."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from deploy.embedded.servers import Home, NatsServer
from deploy.keys.directory import Keys

Usage = namedtuple("Usage", "total used free")
LINE = "[1] [ERR] Filestore [EVT] Critical write error: write 1.blk: no space left on device\n"


@pytest.fixture
def server(tmp_path: Path) -> NatsServer:
    home = Home(tmp_path)
    home.make()
    server = NatsServer(home, 4222, Keys(tmp_path / "keys"))
    server.log.write_text("[1] [INF] Server is ready\n")
    return server


def _room(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free, 0, free))


def test_a_frozen_stream_waits_for_room(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    _room(monkeypatch, 2**40)
    assert not server.check(0.0).is_stuck
    with server.log.open("a") as log:
        log.write(LINE)
    _room(monkeypatch, 0)
    assert not server.check(0.0).is_stuck
    _room(monkeypatch, 2**40)
    assert server.check(0.0).is_stuck


def test_a_log_that_was_turned_over_is_read_from_its_beginning(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _room(monkeypatch, 2**40)
    assert not server.check(0.0).is_stuck
    server.log.write_text("")
    assert not server.check(0.0).is_stuck
    server.log.write_text(LINE)
    assert server.check(0.0).is_stuck
