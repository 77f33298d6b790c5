"""What is refused before anything starts: no room, no permission."""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from deploy.embedded import preflight
from muster.errors import Rejected

Usage = namedtuple("Usage", "total used free")


def test_a_full_disk_is_named_with_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 20 * 2**20))
    with pytest.raises(Rejected) as refused:
        preflight.check_disk(tmp_path)
    assert (refused.value.code, str(tmp_path) in refused.value.message) == ("disk_full", True)
    assert "20 MiB free" in refused.value.message


def test_a_folder_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Rejected) as refused:
        preflight.check_disk(tmp_path)
    assert refused.value.code == "no_permission"
    assert "MUSTER_HOME" in (refused.value.hint or "")


def test_room_and_permission_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 2**40))
    preflight.check_disk(tmp_path)
