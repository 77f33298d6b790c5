"""Builds the files that machines install from the gateway's package index.

They are the wheels of the SDK and the platform, Horovod's for this machine's torch, and the locked dependencies with hashes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.dependencies.install import LOCKS, ROOT
from deploy.horovod.toolchain import SetupFailed, find_toolchain
from deploy.horovod.wheel import cached_wheel

REQUIREMENTS = "requirements.txt"


def make_packages(folder: Path) -> list[Path]:
    """Create the files in `folder`, each by a rename, and return them. Raises SetupFailed."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as made:
        making = Path(made)
        build_own_wheels(making)
        shutil.copy(cached_wheel(find_toolchain()), making)
        shutil.copy(LOCKS / "platform.txt", making / REQUIREMENTS)
        return [file.rename(folder / file.name) for file in sorted(making.iterdir())]


def build_own_wheels(folder: Path) -> None:
    """Build the wheels of the SDK and the platform, from copies: a build leaves files in its source folder. Raises SetupFailed."""
    with tempfile.TemporaryDirectory() as copied:
        source = Path(copied)
        shutil.copy(ROOT / "pyproject.toml", source)
        for name in ("services", "worker", "shared", "simulator", "deploy", "sdk"):
            shutil.copytree(
                ROOT / name,
                source / name,
                ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"),
            )
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
        ]
        built = subprocess.run([*command, "--wheel-dir", str(folder), "./sdk", "."], cwd=source, check=False)
    if built.returncode:
        raise SetupFailed("pip could not build the wheels; see its output above")
