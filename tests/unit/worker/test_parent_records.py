"""What a worker's daemon knows of a warm parent that is dead, before the next one has come up."""

import fcntl
import json
from dataclasses import asdict
from pathlib import Path

from muster.wire import ProcessFrame
from muster.wire.process_records import LOCK, is_served, read_ended


def test_what_it_had_seen_end_has_its_exit_code_and_the_rest_died_with_it(tmp_path: Path) -> None:
    for process in (ProcessFrame("a.1.0", "a", 11, exit_code=3), ProcessFrame("a.1.1", "a", 12)):
        (tmp_path / f"{process.name}.json").write_text(json.dumps(asdict(process)))
    (tmp_path / "torn.json").write_text('{"name": "b')
    ended = {process.name: process for process in read_ended(tmp_path)}
    assert ended.keys() == {"a.1.0", "a.1.1"}
    assert (ended["a.1.0"].exit_code, ended["a.1.0"].error) == (3, "")
    assert (ended["a.1.1"].exit_code, ended["a.1.1"].error) == (
        -9,
        "the warm parent died, and its processes with it",
    )


def test_who_holds_the_lock_lives(tmp_path: Path) -> None:
    assert not is_served(tmp_path)
    lock = tmp_path / LOCK
    lock.touch()
    assert not is_served(tmp_path)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert is_served(tmp_path)
    assert not is_served(tmp_path)


def test_records_of_a_newer_version_are_read_as_far_as_they_are_known(tmp_path: Path) -> None:
    kept = asdict(ProcessFrame("a.1.0", "a", 11, exit_code=3)) | {"of_a_later_day": True}
    (tmp_path / "a.1.0.json").write_text(json.dumps(kept))
    assert [process.exit_code for process in read_ended(tmp_path)] == [3]
