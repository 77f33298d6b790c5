"""What the worker itself says in a trial's log."""

import errno
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worker.journal import Journal
from worker.logs import REMARK_EVERY, LogTail

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()


def _tail(folder: Path) -> tuple[LogTail, Journal, Clock]:
    journal, clock = Journal(folder / "journal"), Clock()
    return LogTail(journal, folder / "offsets.json", (), clock, lambda: None), journal, clock


def _texts(journal: Journal) -> list[str]:
    return [json.loads(payload)["text"] for payload in journal.read_after(0)]


def test_what_goes_on_is_said_again_after_a_while_only(tmp_path: Path) -> None:
    tail, journal, clock = _tail(tmp_path)
    for minutes in (0, 1, 9, 11, 12):
        clock.at = START + timedelta(minutes=minutes)
        tail.remark("the disk is full")
    assert timedelta(minutes=9) < REMARK_EVERY < timedelta(minutes=11)
    assert _texts(journal) == ["the disk is full"] * 2


async def test_what_is_said_on_a_full_disk_is_written_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail, journal, _ = _tail(tmp_path)
    with monkeypatch.context() as patched:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(os, "write", full)
        tail.remark("the disk is full")
        tail.say("a checkpoint was not kept")
    tail.end(("the last words",))
    await tail.run()
    assert _texts(journal) == ["the disk is full", "a checkpoint was not kept", "the last words"]
    assert tail.is_done
