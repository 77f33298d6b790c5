"""What a rank's signs of life say to its worker."""

import faulthandler
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muster import wire
from muster._trial import Trial
from muster._trial.process_environment import load_process_environment
from muster._trial.worker_link.heartbeat import RHYTHM_BEATS, HeartbeatWriter
from muster.wire.heartbeat import (
    HEARTBEATS_FILE,
    RECORD_BYTES,
    STACKS_SIGNAL,
    Heartbeat,
    RankPhase,
    read_heartbeats,
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / HEARTBEATS_FILE).write_bytes(bytes(2 * RECORD_BYTES))
    yield tmp_path
    faulthandler.unregister(STACKS_SIGNAL)


def _second(folder: Path) -> Heartbeat:
    return read_heartbeats((folder / HEARTBEATS_FILE).read_bytes())[1]


def test_a_rank_starts_then_steps(folder: Path) -> None:
    heartbeat = HeartbeatWriter(str(folder), 1)
    assert (_second(folder).phase, _second(folder).pid) == (RankPhase.STARTING, os.getpid())
    for _ in range(RHYTHM_BEATS):
        assert _second(folder).phase is RankPhase.STARTING
        heartbeat.beat()
    assert _second(folder).phase is RankPhase.STEPPING
    assert read_heartbeats((folder / HEARTBEATS_FILE).read_bytes())[0].phase is RankPhase.ABSENT


def test_work_without_steps_is_told_and_counts_for_no_step(folder: Path) -> None:
    heartbeat = HeartbeatWriter(str(folder), 1)
    for _ in range(RHYTHM_BEATS):
        heartbeat.beat()
    longest_ns = _second(folder).longest_ns
    with heartbeat.busy(), heartbeat.busy():
        heartbeat.beat()
        assert _second(folder).phase is RankPhase.BUSY
    after = _second(folder)
    assert (after.phase, after.longest_ns) == (RankPhase.STEPPING, longest_ns)
    heartbeat.close()
    assert _second(folder).phase is RankPhase.BUSY
    heartbeat.end()
    assert _second(folder).phase is RankPhase.ENDED


def test_where_ranks_meet_for_a_checkpoint_they_are_expected_to_step(folder: Path, tmp_path: Path) -> None:
    met: list[RankPhase] = []

    def meet(name: str, number: int) -> int:
        met.append(_second(folder).phase)
        return number

    gang: Any = SimpleNamespace(
        rank=0, size=2, local_rank=0, number=meet, share_out_files=lambda *about: ("w1",)
    )
    description = wire.TrialFile(
        socket="", size=2, hparams={}, seed=0, checkpoints=str(tmp_path / "kept"), metric="loss"
    )
    heartbeat = HeartbeatWriter(str(folder), 1)
    for _ in range(RHYTHM_BEATS):
        heartbeat.beat()
    with Trial(description, load_process_environment(), None, gang, heartbeat).checkpoint(1) as directory:
        (directory / "step").write_text("1")
        assert _second(folder).phase is RankPhase.BUSY
    assert met == [RankPhase.STEPPING], (
        "a rank that waits there for one that hangs would count as busy for ever"
    )


def test_it_shows_its_stack_when_asked(folder: Path) -> None:
    heartbeat = HeartbeatWriter(str(folder), 1)
    os.kill(os.getpid(), STACKS_SIGNAL)
    assert "test_it_shows_its_stack_when_asked" in (folder / "1.stacks").read_text()
    heartbeat.close()


def test_without_a_worker_nothing_is_written_and_nothing_fails(tmp_path: Path) -> None:
    heartbeat = HeartbeatWriter("", 0)
    heartbeat.beat()
    with heartbeat.busy():
        heartbeat.beat()
    heartbeat.close()
    assert not list(tmp_path.iterdir())


def test_a_trial_that_a_thread_begins_is_seen_too(folder: Path) -> None:
    beginner = threading.Thread(target=HeartbeatWriter, args=(str(folder), 1))
    beginner.start()
    beginner.join()
    assert _second(folder).phase is RankPhase.STARTING
