"""Attack: a package index, or whoever stands between it and set-up, serves a wheel with another content under a locked version."""

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deploy.dependencies.install import LOCKED, OWN, main
from deploy.dependencies.requirements import ROOT

NAME = "example_of_muster-1.0-py3-none-any.whl"
INSTALLED = "example_of_muster.py"


def wheel(folder: Path, code: str) -> Path:
    """A wheel with one module."""
    info = "example_of_muster-1.0.dist-info"
    contents = {
        INSTALLED: code,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: example-of-muster\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = (
        "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in contents.items())
        + f"{info}/RECORD,,\n"
    )
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / NAME, "w") as archive:
        for name, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return folder / NAME


def install(lock: Path, index: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Install as set-up does, from a folder instead of the index."""
    where = ("--no-index", "--find-links", str(index), "--target", str(target))
    command = [sys.executable, "-m", "pip", *LOCKED, *where, "-r", str(lock)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_a_wheel_with_another_content_is_not_installed(tmp_path: Path) -> None:
    index, target, lock = tmp_path / "index", tmp_path / "target", tmp_path / "lock.txt"
    good = hashlib.sha256(wheel(index, "VALUE = 1\n").read_bytes()).hexdigest()
    lock.write_text(f"example-of-muster==1.0 \\\n    --hash=sha256:{good}\n")
    wheel(index, "VALUE = 'tampered'\n")
    refused = install(lock, index, target)
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert not (target / INSTALLED).exists()
    wheel(index, "VALUE = 1\n")
    lock.write_text(f"example-of-muster==1.0 \\\n    --hash=sha256:{_sha256(index / NAME)}\n")
    assert install(lock, index, target).returncode == 0
    assert (target / INSTALLED).exists()


def test_a_package_without_a_hash_is_not_installed(tmp_path: Path) -> None:
    index, target, lock = tmp_path / "index", tmp_path / "target", tmp_path / "lock.txt"
    wheel(index, "VALUE = 1\n")
    lock.write_text("example-of-muster==1.0\n")
    refused = install(lock, index, target)
    assert refused.returncode != 0
    assert not (target / INSTALLED).exists()


def test_set_up_downloads_nothing_that_no_lock_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `pip install` of set-up has hashes, or installs the project's own folders without dependencies and build requirements."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command[3:])
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    assert main() == 0
    installs = [one for one in commands if one[0] == "install"]
    assert len(installs) >= 2
    for one in installs:
        assert {"--no-deps", "--require-hashes"} <= set(one) or tuple(one[: len(OWN)]) == OWN
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("$(STAMP):")[2].partition("\n\n")[0]
    assert "deploy.dependencies.install" in recipe
    assert "pip install" not in recipe


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
