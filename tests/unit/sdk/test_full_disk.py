"""A full disk in a trial's process: prints wait, checkpoints say what is wrong and leave nothing."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import muster
from muster import wire
from muster.runtime.processes import ProcessTable
from muster.runtime.sandbox.sandboxes import Sandboxes
from muster.wire import ProcessFrame


def test_the_cause_of_an_error_is_found() -> None:
    told = RuntimeError("it could not be saved")
    told.__cause__ = OSError(errno.EDQUOT, "Disk quota exceeded")
    assert wire.is_disk_full(told)
    assert not wire.is_disk_full(OSError(errno.EIO, "Input/output error"))
    assert not wire.is_disk_full(RuntimeError("something else"))


def test_a_checkpoint_without_room_leaves_nothing_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("muster._trial._current", None)
    trial = muster.trial()
    failure = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match=f"the disk is full: free space under {tmp_path}") as raised:
        _fail(trial, failure)
    assert raised.value.errno == errno.ENOSPC
    assert list((tmp_path / "checkpoints").iterdir()) == []
    with trial.checkpoint(4) as folder:
        (folder / "whole").write_text("written")
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["000001-step-4"]


def _fail(trial: muster.Trial, error: Exception) -> None:
    with trial.checkpoint(3) as folder:
        (folder / "half").write_text("written")
        raise error


def test_any_other_failure_discards_the_checkpoint_and_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("muster._trial._current", None)
    with pytest.raises(ZeroDivisionError):
        _fail(muster.trial(), ZeroDivisionError())
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_prints_wait_for_room(tmp_path: Path) -> None:
    """A limit on a file's size stands for the disk: it, too, cuts a write and fails the next."""
    script = """
import errno, resource, signal, sys
from muster import _buffered_output
from muster.wire import full_disk
full_disk._FULL = frozenset({errno.EFBIG})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_buffered_output.tolerate_full_disk()
_buffered_output.HELD_BYTES = 1000
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
for number in range(50):
    print("line", number, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("room again")
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
for number in range(1000):
    print("more", number)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
    output = tmp_path / "stdout"
    with output.open("wb") as stdout:
        subprocess.run([sys.executable, "-c", script], stdout=stdout, check=True)
    lines = output.read_text().splitlines()
    assert lines[:51] == [*(f"line {number}" for number in range(50)), "room again"]
    assert lines[-1] == "more 999"
    [note] = [line for line in lines if line.startswith("muster: ")]
    kept = [line for line in lines if line.startswith("more ")]
    assert note == f"muster: {1000 - len(kept)} lines were dropped here while the disk was full"
    assert kept[-50:] == [f"more {number}" for number in range(950, 1000)]


def test_a_process_is_kept_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = ProcessTable(tmp_path, Sandboxes())
    with monkeypatch.context() as patched:

        def full(*_: object, **__: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patched.setattr(Path, "write_text", full)
        family.add(ProcessFrame("run.1.0", "run", 2**22, exit_code=0))
    assert [process.exit_code for process in family] == [0]
    assert list(ProcessTable(tmp_path, Sandboxes())) == []
    family.save_rest()
    assert [process.exit_code for process in ProcessTable(tmp_path, Sandboxes())] == [0]
