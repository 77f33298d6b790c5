"""A link in a run's own /tmp does not lead the next start of its sandbox, which is made by root, out of the sandbox."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from muster.wire.sandbox_spec import SandboxSpec

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as workers that make sandboxes")
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
_USER = 400_000


def start(folder: Path, temporary: Path, inner: Path) -> subprocess.CompletedProcess[str]:
    """Start a sandbox that shows `inner` below the run's own /tmp, as with a worker whose folder is in /tmp."""
    (folder / "place").mkdir(exist_ok=True)
    mounts = [[str(temporary), "/tmp", "rw"], *([one, one, "ro"] for one in _SYSTEM)]
    mounts.append([str(inner), "/tmp/platform/runs/inner", "rw"])
    spec = SandboxSpec(
        user=_USER,
        place=str(folder / "place"),
        hostname="run",
        mounts=mounts,
        files={},
        devices=[],
        shm_bytes=2**20,
    )
    (folder / "spec.json").write_text(json.dumps(asdict(spec)))
    command = [sys.executable, "-m", "muster.runtime.sandbox", str(folder / "spec.json")]
    return subprocess.run(
        [*command, "/usr/bin/test", "-d", "/tmp/platform/runs/inner"],
        cwd="/", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_mount_point_is_never_made_outside_of_the_sandbox(tmp_path: Path) -> None:
    temporary, inner, outside = (tmp_path / name for name in ("tmp", "inner", "outside"))
    for folder in (temporary, inner, outside):
        folder.mkdir()
    os.chown(temporary, _USER, _USER)
    assert start(tmp_path, temporary, inner).returncode == 0
    (temporary / "platform").rename(temporary / "moved")
    (temporary / "platform").symlink_to(outside)
    again = start(tmp_path, temporary, inner)
    assert list(outside.iterdir()) == []
    assert again.returncode != 0 and "Not a directory" in again.stderr
