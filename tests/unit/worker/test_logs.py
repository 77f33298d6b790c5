"""What the worker itself says in a trial's log."""

import asyncio
import errno
import json
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.virtual_time import in_virtual_time
from tests.support.waiting import eventually
from worker.journal.journal import Journal
from worker.journal.logs import POLL_S, REMARK_EVERY, LogTail, TailEvents
from worker.journal.output_reader import END_WAIT_S, READ_BYTES, STATE_EVERY_S, Output

EVENTS = TailEvents(lambda rank, line: None, lambda: None)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()


def _tail(folder: Path, *outputs: Output) -> tuple[LogTail, Journal, Clock]:
    journal, clock = Journal(folder / "journal"), Clock()
    return LogTail(journal, folder / "offsets.json", outputs, clock, EVENTS), journal, clock


def _texts(journal: Journal) -> list[str]:
    return [json.loads(payload)["text"] for payload in journal.read_after(0)]


def test_what_goes_on_is_said_again_after_a_while_only(tmp_path: Path) -> None:
    tail, journal, clock = _tail(tmp_path)
    for minutes in (0, 1, 9, 11, 12):
        clock.at = START + timedelta(minutes=minutes)
        tail.warn_rate_limited("the disk is full")
    assert timedelta(minutes=9) < REMARK_EVERY < timedelta(minutes=11)
    assert _texts(journal) == ["the disk is full"] * 2


@in_virtual_time
async def test_what_is_said_on_a_full_disk_is_written_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail, journal, _ = _tail(tmp_path)
    with monkeypatch.context() as patched:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(os, "write", full)
        tail.warn_rate_limited("the disk is full")
        tail.log("a checkpoint was not kept")
    tail.end(("the last words",))
    await tail.run()
    assert _texts(journal) == ["the disk is full", "a checkpoint was not kept", "the last words"]
    assert tail.is_done


@in_virtual_time
async def test_a_progress_bar_is_in_the_log_now_and_then_and_at_its_end(tmp_path: Path) -> None:
    output = Output(tmp_path / "0.stderr", 0, "stderr")
    tail, journal, clock = _tail(tmp_path, output)
    running = asyncio.create_task(tail.run())
    with output.path.open("a") as bar:
        for percent in range(0, 60, 20):
            bar.write(f"\r{percent}%")
        bar.flush()
        await eventually(lambda: _texts(journal) == ["20%"])
        bar.write("\r60%\r80%")
        bar.flush()
        clock.at += timedelta(seconds=STATE_EVERY_S / 2)
        await asyncio.sleep(0)
        clock.at += timedelta(seconds=STATE_EVERY_S)
        await eventually(lambda: _texts(journal) == ["20%", "60%"])
        bar.write("\r100%")
    tail.end()
    await running
    assert _texts(journal) == ["20%", "60%", "100%"]


@in_virtual_time
async def test_a_line_that_gets_no_end_is_shown_after_a_while(tmp_path: Path) -> None:
    output = Output(tmp_path / "0.stdout", 0, "stdout")
    tail, journal, clock = _tail(tmp_path, output)
    running = asyncio.create_task(tail.run())
    output.path.write_text("whole\nloading the data ... ")
    await eventually(lambda: _texts(journal) == ["whole"])
    clock.at += timedelta(seconds=END_WAIT_S)
    await eventually(lambda: _texts(journal) == ["whole", "loading the data ... "])
    with output.path.open("a") as more:
        more.write("done\n")
    tail.end()
    await running
    assert _texts(journal) == ["whole", "loading the data ... ", "done"]


@in_virtual_time
async def test_what_nobody_takes_waits_in_its_file_and_comes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.journal.logs.BACKLOG_BYTES", 2**20)
    printed = [f"{number} {'x' * 80}" for number in range(30_000)]
    output = Output(tmp_path / "0.stdout", 0, "stdout")
    output.path.write_text("".join(f"{line}\n" for line in printed))
    tail, journal, clock = _tail(tmp_path, output)
    tail.end()
    running = asyncio.create_task(tail.run())
    await eventually(lambda: journal.backlog_bytes > 2**20)
    clock.at += timedelta(seconds=END_WAIT_S)  # where a read ends within a line, more of it is there
    await asyncio.sleep(2 * POLL_S)
    assert journal.backlog_bytes < 2**21
    taken: list[str] = []
    while not (running.done() and journal.is_drained):
        first, payloads = journal.read_batch()
        taken += [json.loads(payload)["text"] for payload in payloads]
        journal.commit(first + len(payloads))
        await asyncio.sleep(POLL_S)
    assert taken == printed


@in_virtual_time
async def test_others_have_their_turn_while_much_is_read(tmp_path: Path) -> None:
    output = Output(tmp_path / "0.stdout", 0, "stdout")
    output.path.write_bytes(b"printed\n" * (READ_BYTES // 2))
    tail, journal, _ = _tail(tmp_path, output)
    tail.end()
    running, seen = asyncio.create_task(tail.run()), [0]
    while not running.done():
        await asyncio.sleep(0)
        seen.append(journal.last)
    assert max(after - before for before, after in pairwise(seen)) * len(b"printed\n") <= READ_BYTES
