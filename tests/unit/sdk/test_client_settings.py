"""Where the client finds its platform."""

import json
import stat
from pathlib import Path

import pytest

from muster.client.settings import discover, save
from muster.errors import Rejected


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MUSTER_URL", "MUSTER_TOKEN", "MUSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")


def known(folder: Path, url: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "client.json").write_text(json.dumps({"url": url, "token": "t"}))
    return folder


def test_the_nearest_folder_upward_wins_and_the_environment_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(tmp_path / "home" / ".muster", "http://home")
    work = tmp_path / "work" / "deep"
    work.mkdir(parents=True)
    assert discover(work).url == "http://home"
    known(tmp_path / "work" / ".muster", "http://near/")
    assert discover(work).url == "http://near"
    monkeypatch.setenv("MUSTER_HOME", str(known(tmp_path / "chosen", "http://chosen")))
    assert discover(work).url == "http://chosen"
    monkeypatch.setenv("MUSTER_URL", "http://set")
    monkeypatch.setenv("MUSTER_TOKEN", "secret")
    assert (discover(work).url, discover(work).token) == ("http://set", "secret")
    assert "secret" not in repr(discover(work))


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Rejected, match="muster up"):
        discover(tmp_path)
    (known(tmp_path / ".muster", "x") / "client.json").write_text("{")
    with pytest.raises(Rejected, match="muster login"):
        discover(tmp_path)
    monkeypatch.setenv("MUSTER_URL", "http://set")
    with pytest.raises(Rejected, match="MUSTER_TOKEN"):
        discover(tmp_path)


def test_a_kept_address_is_found_again_and_is_the_users_own(tmp_path: Path) -> None:
    file = save("http://there/", "secret", tmp_path / "home" / ".muster")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (discover(tmp_path).url, discover(tmp_path).token) == ("http://there", "secret")
